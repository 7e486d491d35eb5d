// A web page gets nothing from a gate on the same machine, whatever it tries.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';

import { Home, PATIENCE } from '../ts/home.mjs';
import { foreignPage, reboundPage, visit } from './chromium.mjs';

const REVISION = '2026-07-28';
/** A whole request: nothing has to be said before it. */
const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'reports_list_reports',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

const html = readFileSync(new URL('page.html', import.meta.url), 'utf8');
const page = (target) => html.replace('$TARGET', target).replace('$MESSAGE', JSON.stringify(CALL));

for (const transport of ['http', 'sse']) {
  /** Runs the body in front of a gate, which afterwards has recorded nothing. */
  const check = (name, body) =>
    test(`${name}, ${transport}`, { timeout: PATIENCE }, async () => {
      const home = new Home();
      try {
        const url = await home.up('--mode', 'native', '--transport', transport);
        await body(url, home);
        assert.deepEqual(home.run('records', 'list'), [], 'no call was made');
      } finally {
        await home.close();
      }
    });

  check('a page of another origin reads nothing', async (gate) => {
    const evil = await foreignPage(page(gate.origin));
    try {
      const got = await visit(evil.url, evil.reported);
      assert.deepEqual(Object.values(got).filter((answer) => answer !== null), [], JSON.stringify(got));
      assert.equal(Object.keys(got).length, 9);
    } finally {
      evil.close();
    }
  });

  check('a page whose name was bound to the gate reads refusals', async (gate) => {
    const evil = await reboundPage(page(''), gate.port);
    try {
      const got = await visit(evil.url, evil.reported);
      const answers = Object.values(got).filter((answer) => answer !== null);
      for (const { status, text } of answers) {
        assert.ok([0, 421].includes(status), JSON.stringify(got));
        assert.equal(text.trim(), 'this gate does not answer to that host name');
      }
      assert.ok(answers.length >= 5, JSON.stringify(got));
    } finally {
      evil.close();
    }
  });
}

test('the message of the attacks is a call when a program sends it', { timeout: PATIENCE }, async () => {
  const home = new Home();
  try {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': CALL.method,
      'mcp-name': CALL.params.name,
    };
    const gate = await home.up('--mode', 'native');
    const answer = await fetch(gate, { method: 'POST', headers, body: JSON.stringify(CALL) });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(home.run('records', 'list').length, 1);
  } finally {
    await home.close();
  }
});

// The attacks work: a server that does not look at `Host` and `Origin` falls to them.
test('a careless server gives the page everything', { timeout: PATIENCE }, async () => {
  const calls = [];
  const careless = createServer((request, response) => {
    const allow = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*', 'access-control-allow-methods': '*' };
    const stream = request.headers.accept === 'text/event-stream';
    response.writeHead(200, { ...allow, 'content-type': stream ? 'text/event-stream' : 'text/plain' });
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      if (body) calls.push(JSON.parse(body).method);
      response.end('secret');
    });
  });
  await new Promise((resolve) => careless.listen(0, '127.0.0.1', resolve));
  const { port } = careless.address();
  const evil = await foreignPage(page(`http://127.0.0.1:${port}`));
  try {
    const got = await visit(evil.url, evil.reported);
    const read = Object.entries(got).filter(([, answer]) => answer !== null).map(([name]) => name);
    const blind = ['fetch without cors', 'form'];
    assert.deepEqual(read, Object.keys(got).filter((name) => !blind.includes(name)));
    assert.equal(calls.length, 5, 'also what the page cannot read arrives');
  } finally {
    evil.close();
    careless.close();
    careless.closeAllConnections();
  }
});
