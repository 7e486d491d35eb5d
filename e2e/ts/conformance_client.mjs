// The official TypeScript clients, doing what a scenario of the conformance suite asks for.
//
// The suite starts this with the address of its server; the client is pointed at a gate in front of it.
// What the suite then sees is what the gate makes of what a client says that is not ours.

import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';

const who = { name: 'toolgate-conformance', version: '1' };

/** A connected client of the revision that the scenario is about. */
async function connect(url, revision) {
  if (revision === '2026-07-28') {
    const client = new Client2(who, {
      versionNegotiation: { mode: 'auto' },
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    });
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { confirmed: true } }));
    await client.connect(new Http2(new URL(url)));
    return { list: () => client.listTools(), call: (name, args) => client.callTool({ name, arguments: args }), client };
  }
  const client = new Client1(who, { capabilities: { elicitation: { form: { applyDefaults: true } } } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: {} }));
  await client.connect(new Http1(new URL(url)));
  return { list: () => client.listTools(), call: (name, args) => client.callTool({ name, arguments: args }), client };
}

/** What to do in each scenario that concerns an intermediary; null arguments break the tools' schemas. */
const scenarios = {
  initialize: async () => {},
  'request-metadata': async ({ list }) => list(),
  'json-schema-ref-no-deref': async ({ list }) => list(),
  tools_call: async ({ list, call }) => {
    await list();
    await call('add_numbers', { a: 5, b: 3 });
  },
  'elicitation-sep1034-client-defaults': async ({ call }) => call('test_client_elicitation_defaults', {}),
  'sse-retry': async ({ call }) => call('test_reconnection', {}),
  'sep-2322-client-request-state': async ({ list, call }) => {
    await list();
    await Promise.all([call('test_mrtr_echo_state', {}), call('test_mrtr_unrelated', {})]);
    await call('test_mrtr_no_state', {});
    await call('test_mrtr_no_result_type', {});
  },
  'http-standard-headers': async ({ list, call, client }) => {
    await list();
    await call('test_headers', {});
    await call('my-hyphenated-tool', {});
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  },
  'http-custom-headers': async ({ list, call }) => {
    await list();
    for (const { name, arguments: args } of context().toolCalls) {
      const given = Object.entries(args).filter(([, value]) => value !== null);
      await call(name, Object.fromEntries(given));
    }
  },
  'http-invalid-tool-headers': async ({ list, call }) => {
    const { tools } = await list();
    for (const { name } of tools) await call(name, context().arguments?.[name] ?? { region: 'us-west1' });
  },
  'json-schema-2020-12-preservation': async ({ list, call }) => {
    const { tools } = await list();
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
    await call('json_schema_echo', { schema: inputSchema });
  },
};

export const names = Object.keys(scenarios);

/** Runs the scenario that the suite names, against the gate at this address. */
export async function play(url) {
  const name = process.env.MCP_CONFORMANCE_SCENARIO;
  const play = scenarios[name];
  if (!play) throw new Error(`no client for the scenario ${name}`);
  const connected = await connect(url, process.env.MCP_CONFORMANCE_PROTOCOL_VERSION);
  try {
    await play(connected);
  } finally {
    await connected.client.close();
  }
}

function context() {
  return JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
}
