// The example of the manual runs as it is printed there.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { Home, PATIENCE } from './home.mjs';

const URL_IN_THE_MANUAL = 'http://127.0.0.1:8642/mcp';

test('the example of the manual lists the tools', { timeout: PATIENCE }, async () => {
  const text = readFileSync(new URL('example.mjs', import.meta.url), 'utf8');
  assert.ok(text.includes(URL_IN_THE_MANUAL));
  const home = new Home();
  try {
    const program = text.replace(URL_IN_THE_MANUAL, (await home.up()).href);
    const { stdout } = await promisify(execFile)('node', ['--input-type=module', '--eval', program]);
    assert.deepEqual(stdout.trim().split('\n'), ['tool_browse', 'tool_execute', 'tool_view']);
  } finally {
    await home.close();
  }
});
