// A web page gets nothing from a gate on the same machine, whatever it tries.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
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

/** A page that is a client: it says hello, and lists tools within the session it was given. */
const client = (target) => `<!doctype html><script>
  const say = async (method, id, params, more) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    return fetch('${target}', { method: 'POST', headers, body });
  };
  const run = async () => {
    const clientInfo = { name: 'page', version: '1' };
    const hello = await say('initialize', 1, { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    const session = hello.headers.get('mcp-session-id');
    const more = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    const listed = await (await say('tools/list', 2, {}, more)).json();
    await fetch('${target}', { method: 'DELETE', headers: more });
    return listed.result.tools.length;
  };
  run().catch(String).then((got) => fetch('/report', { method: 'POST', body: JSON.stringify(got) }));
</script>`;

for (const named of [true, false]) {
  test(`a page ${named ? 'may be' : 'is not'} a client where its origin is ${named ? '' : 'not '}named for it`, { timeout: PATIENCE }, async () => {
    const home = new Home();
    // The page is there before the gate, which must know its origin; it asks for the gate's address.
    let gate = '';
    const page = await foreignPage(() => client(gate));
    try {
      const origin = JSON.stringify(new URL(page.url).origin);
      const http = named ? `{cors: {allow_origins: [${origin}]}}` : `{allow_origins: [${origin}]}`;
      writeFileSync(join(home.folder, 'gate.yaml'), `upstreams: {demo: {type: demo}}\nhttp: ${http}\n`);
      gate = (await home.up('--mode', 'native', '--config', join(home.folder, 'gate.yaml'))).href;
      const got = await visit(page.url, page.reported);
      assert.equal(typeof got, named ? 'number' : 'string', JSON.stringify(got));
    } finally {
      page.close();
      await home.close();
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
