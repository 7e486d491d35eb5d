// A small real server on the second major version of the TypeScript SDK.

import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'ts2', version: '1' });

const numbers = z.object({ a: z.number(), b: z.number() });
server.registerTool('ts2_add', { description: 'Add two numbers.', inputSchema: numbers }, ({ a, b }) => ({
  content: [{ type: 'text', text: String(a + b) }],
}));

server.registerTool('ts2_fail', { description: 'Fail on purpose.', inputSchema: z.object({}) }, () => {
  throw new Error('this tool fails as it should');
});

await server.connect(new StdioServerTransport());
