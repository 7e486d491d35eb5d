// Every way an official TypeScript client reaches the gate, under one name each.

import { Client as Client2, SSEClientTransport as Sse2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as Sse1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const who = { name: 'toolgate-e2e', version: '1' };
const first = () => new Client1(who);
const second = (mode) => new Client2(who, { versionNegotiation: { mode } });

const stdio = (Transport) => async (home, flags) => new Transport(home.pipe(...flags));
const http = (Transport) => async (home, flags) => new Transport(await home.up(...flags));
const sse = (Transport) => async (home, flags) => new Transport(await home.up('--transport', 'sse', ...flags));

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';

export const links = [
  { name: 'sdk 1 over stdio', client: first, transport: stdio(Stdio1), revision: LEGACY },
  { name: 'sdk 1 over http', client: first, transport: http(Http1), revision: LEGACY },
  { name: 'sdk 1 over sse', client: first, transport: sse(Sse1), revision: LEGACY },
  { name: 'sdk 2 over stdio', client: () => second('legacy'), transport: stdio(Stdio2), revision: LEGACY },
  { name: 'sdk 2 over http', client: () => second('legacy'), transport: http(Http2), revision: LEGACY },
  { name: 'sdk 2 over sse', client: () => second('legacy'), transport: sse(Sse2), revision: LEGACY },
  { name: 'sdk 2 over stdio, stateless', client: () => second('auto'), transport: stdio(Stdio2), revision: MODERN },
  { name: 'sdk 2 over http, stateless', client: () => second('auto'), transport: http(Http2), revision: MODERN },
];
