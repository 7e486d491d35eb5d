// The public servers, as an `mcp.json` names them, and one real call on each.

import { join } from 'node:path';

const tools = process.env.SERVERS_TOOLS;
if (!tools) throw new Error('SERVERS_TOOLS must name the folder they are installed in; run `./test e2e`');

const npm = (name) => join(tools, 'servers/node_modules/.bin', name);
const python = (name) => join(tools, 'servers-python/bin', name);
const pythonOld = (name) => join(tools, 'servers-python-v1/bin', name);

/** All servers, with their data in one folder and a page at an address to fetch. */
export function servers(folder, page) {
  return {
    everything: {
      config: { command: npm('mcp-server-everything'), args: [] },
      tool: 'echo',
      args: { message: 'through the gate' },
      says: /through the gate/,
    },
    filesystem: {
      config: { command: npm('mcp-server-filesystem'), args: [folder] },
      tool: 'write_file',
      args: { path: join(folder, 'written.txt'), content: 'by a tool' },
      says: /written\.txt/,
    },
    memory: {
      config: { command: npm('mcp-server-memory'), args: [], env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
      tool: 'create_entities',
      args: { entities: [{ name: 'Ann', entityType: 'person', observations: ['likes gates'] }] },
      says: /likes gates/,
    },
    thinking: {
      config: { command: npm('mcp-server-sequential-thinking'), args: [] },
      tool: 'sequentialthinking',
      args: { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      says: /thoughtHistoryLength/,
    },
    git: {
      config: { command: python('mcp-server-git'), args: ['--repository', folder] },
      tool: 'git_status',
      args: { repo_path: folder },
      says: /branch/i,
    },
    time: {
      config: { command: python('mcp-server-time'), args: ['--local-timezone', 'UTC'] },
      tool: 'convert_time',
      args: { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Kolkata' },
      says: /17:30/,
    },
    fetch: {
      config: { command: python('mcp-server-fetch'), args: ['--ignore-robots-txt', '--allow-private-ips'] },
      tool: 'fetch',
      args: { url: page, raw: true },
      says: /a page to fetch/,
    },
    sqlite: {
      config: { command: pythonOld('mcp-server-sqlite'), args: ['--db-path', join(folder, 'shelf.db')] },
      tool: 'create_table',
      args: { query: 'CREATE TABLE books (title TEXT)' },
      says: /success/i,
    },
    calculator: {
      config: { command: pythonOld('mcp-server-calculator'), args: [] },
      tool: 'calculate',
      args: { expression: '6 * 7' },
      says: /42/,
    },
  };
}
