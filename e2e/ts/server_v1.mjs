// A small real server on the first major version of the TypeScript SDK.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'ts1', version: '1' });

const numbers = { a: z.number(), b: z.number() };
server.registerTool('ts1_add', { description: 'Add two numbers.', inputSchema: numbers }, ({ a, b }) => ({
  content: [{ type: 'text', text: String(a + b) }],
}));

server.registerTool('ts1_fail', { description: 'Fail on purpose.', inputSchema: {} }, () => {
  throw new Error('this tool fails as it should');
});

await server.connect(new StdioServerTransport());
