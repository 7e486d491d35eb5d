// Runs the official suite once and reads what it found from the files it leaves.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const tools = process.env.CONFORMANCE_TOOLS ?? join(here, '../../.tools/conformance');

/** Where a run leaves what it saw, for a person to read. */
export const results = join(tools, 'results');

/** A gate of a debug build starts within this, even beside others. */
const CLIENT_TIMEOUT_MS = '60000';

/** A warning counts: the fixture gives no cause for one, and the gate must not add any. */
const GOOD = new Set(['SUCCESS', 'INFO', 'SKIPPED']);

/** All checks of one run: `[{scenario, id, status, errorMessage}]`. */
export async function run({ url, requirements, scenario, name }) {
  const folder = join(results, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const which = scenario
    ? ['--spec-version', requirements, '--scenario', scenario, '--force']
    : ['--requirements', requirements];
  const baseline = ['--expected-failures', join(here, 'expected-failures.yaml')];
  const { code, output } = await suite(['server', '--url', url, ...which, ...baseline, '-o', folder]);
  return judged({ code, output, folder });
}

/** All checks of one scenario of a client, in the same shape. */
export async function runClient({ requirements, scenario, name }) {
  const folder = join(results, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const command = `${join(tools, 'node_modules/.bin/node')} ${join(here, 'behind.mjs')}`;
  const which = ['--spec-version', requirements, '--scenario', scenario, '--timeout', CLIENT_TIMEOUT_MS];
  return judged({ ...(await suite(['client', '--command', command, ...which, '-o', folder])), folder });
}

function judged({ code, output, folder }) {
  const checks = read(folder);
  if (checks.length === 0) throw new Error(`the suite checked nothing:\n${output}`);
  const bad = checks.filter((check) => !GOOD.has(check.status));
  if (code !== 0 && bad.length === 0) throw new Error(`the suite failed with ${code}:\n${output}`);
  return { checks, bad, folder };
}

/** The names of the scenarios of a requirement set that concern servers, or clients. */
export async function scenarios(requirements, side = 'server') {
  const { output } = await suite(['list', '--requirements', requirements]);
  const heading = side === 'server' ? 'Server' : 'Client';
  const [, servers = ''] = output.match(new RegExp(`${heading} scenarios[^\\n]*\\n([\\s\\S]*?)\\n\\n`)) ?? [];
  const unscored = [...output.matchAll(new RegExp(`^ +- (\\S+) \\[${side}\\]$`, 'gm'))].map(([, name]) => name);
  return [...servers.matchAll(/^ +- (\S+)$/gm)].map(([, name]) => name).concat(unscored);
}

function suite(args) {
  const node = join(tools, 'node_modules/.bin/node');
  const script = join(tools, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  return new Promise((resolve, reject) => {
    const child = spawn(node, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** Each scenario has a folder `server-NAME-TIME`, or `NAME-TIME` of a client, with one file. */
function read(folder) {
  return readdirSync(folder).flatMap((name) => {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8'));
    return checks.map(({ id, status, errorMessage }) => ({ scenario, id, status, errorMessage }));
  });
}
