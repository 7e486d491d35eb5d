import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'my-agent', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL('http://127.0.0.1:8642/mcp')));
const { tools } = await client.listTools();
for (const tool of tools) console.log(tool.name);
await client.close();
