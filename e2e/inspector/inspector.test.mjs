// The MCP inspector's command line lists and calls through the built gate, however it is reached.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';

import { Home, PATIENCE } from '../ts/home.mjs';

const { NODE22: node, INSPECTOR: inspector } = process.env;
if (!node || !inspector) throw new Error('NODE22 and INSPECTOR must name programs; run `./test e2e`');

const ways = {
  'over stdio': (home) => target(home.pipe('--mode', 'native')),
  'over http': async (home) => [(await home.up('--mode', 'native')).href],
  'over http, stateless': async (home) => [(await home.up('--mode', 'native')).href, '--protocol-era', 'modern'],
  'over sse': async (home) => [(await home.up('--mode', 'native', '--transport', 'sse')).href, '--transport', 'sse'],
};

for (const [way, reach] of Object.entries(ways)) {
  test(`lists and calls ${way}`, { timeout: PATIENCE }, async () => {
    const home = new Home();
    try {
      const gate = await reach(home);
      const listed = await inspect(home, [...gate, '--method', 'tools/list']);
      assert.equal(listed.tools.length, 43);
      const call = ['--method', 'tools/call', '--tool-name', 'weather_get_forecast', '--tool-arg', 'city=Mumbai'];
      const called = await inspect(home, [...gate, ...call]);
      assert.notEqual(called.isError, true, JSON.stringify(called));
      assert.match(called.content[0].text, /Mumbai/);
      assert.equal(home.lastStatus(), 'completed');
    } finally {
      await home.close();
    }
  });
}

function target({ command, args }) {
  return [command, ...args];
}

/** Runs the inspector to its end, in a home of its own; what it prints. */
function inspect(home, args) {
  const options = { cwd: home.folder, env: { ...process.env, HOME: home.folder } };
  return new Promise((resolve, reject) => {
    execFile(node, [inspector, '--cli', ...args, '--format', 'json', '--quiet'], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout).result);
    });
  });
}
