// Public servers of npm and PyPI, federated by the built binary from one `mcp.json`. They are started
// as installed, without a package manager in between, and nothing here needs a network.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Home, PATIENCE } from '../ts/home.mjs';
import { links } from '../ts/links.mjs';
import { servers } from './servers.mjs';

const START = 4 * PATIENCE;
const text = (result) => result.content.map((block) => block.text ?? '').join('');

async function followed(client, called) {
  for await (const message of client.experimental.tasks.callToolStream(called)) {
    if (message.type === 'error') throw message.error;
    if (message.type === 'result') return message.result;
  }
  throw new Error('the task ended without a result');
}

for (const name of ['sdk 1 over http', 'sdk 2 over http, stateless']) {
  const link = links.find((known) => known.name === name);

  describe(`public servers, ${name}`, { timeout: START }, () => {
    const home = new Home();
    const page = createServer((_, response) => response.end('a page to fetch'));
    let all;
    let client;

    before(async () => {
      execFileSync('git', ['init', '--quiet', home.folder]);
      await new Promise((resolve) => page.listen(0, '127.0.0.1', resolve));
      all = servers(home.folder, `http://127.0.0.1:${page.address().port}/`);
      const mcpServers = Object.fromEntries(Object.entries(all).map(([name, { config }]) => [name, config]));
      const file = join(home.folder, 'mcp.json');
      writeFileSync(file, JSON.stringify({ mcpServers, startup: { mode: 'strict' } }));
      client = link.client();
      await client.connect(await link.transport(home, ['--mode', 'native', '--config', file]));
    });

    after(async () => {
      await client?.close();
      page.close();
      await home.close();
    });

    test('tools of every one are listed', async () => {
      const { tools } = await client.listTools();
      for (const [name, { tool }] of Object.entries(all)) {
        assert.ok(tools.some((known) => known.name === `mcp__${name}__${tool.replaceAll('-', '_')}`), name);
      }
    });

    test('a call on every one is answered', async () => {
      for (const [name, { tool, args, says }] of Object.entries(all)) {
        const called = { name: `mcp__${name}__${tool.replaceAll('-', '_')}`, arguments: args };
        const result = await client.callTool(called);
        assert.ok(!result.isError, `${name}: ${text(result)}`);
        assert.match(text(result), says, name);
      }
    });

    // Its server makes it a task of 2025-11-25 or refuses it. The first client follows such tasks; the
    // second knows of none, and the gate follows it in its place.
    test('a tool that is only a task is answered all the same', async () => {
      const called = { name: 'mcp__everything__simulate_research_query', arguments: { topic: 'gates' } };
      const result = await (client.experimental?.tasks ? followed(client, called) : client.callTool(called));
      assert.match(text(result), /Research Report: gates/);
    });
  });
}
