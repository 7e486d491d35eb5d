// What the suite is pointed at: the fixture itself, or the built gate in front of it.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { results } from './suite.mjs';

/** Runs the body with the fixture's address. */
export async function direct(body) {
  const fixture = new Process('everything', program('EVERYTHING_BIN'), []);
  try {
    return await body(await fixture.firstLine(), fixture);
  } finally {
    await fixture.stop();
  }
}

/** Runs the body with the address of a gate that has the fixture as its only upstream. */
export async function through({ protocol, pipe }, body) {
  return pipe
    ? gate({ everything: { command: program('EVERYTHING_BIN'), args: ['--stdio'], protocol } }, body)
    : direct((url) => gate({ everything: { url, protocol } }, body));
}

/** Runs the body with the address of a gate that has these upstreams. */
export async function gate(upstreams, body) {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-conformance-'));
  const config = { mode: 'native', naming: 'none', upstreams };
  writeFileSync(join(folder, 'toolgate.json'), JSON.stringify(config));
  const args = ['up', '--port', '0', '--json', '--config', join(folder, 'toolgate.json'), '--data', join(folder, 'data')];
  const toolgate = new Process('toolgate', program('TOOLGATE_BIN'), args);
  try {
    return await body(JSON.parse(await toolgate.firstLine()).url, toolgate);
  } finally {
    await toolgate.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A program that says where it listens in its first line; what it logs is kept in a file. */
class Process {
  constructor(name, path, args) {
    this.name = name;
    this.logFile = join(results, `${name}-${process.pid}.log`);
    mkdirSync(results, { recursive: true });
    const log = openSync(this.logFile, 'w');
    this.child = spawn(path, args, { stdio: ['ignore', 'pipe', log] });
    this.ended = new Promise((resolve) => this.child.once('exit', resolve));
  }

  async firstLine() {
    for await (const line of createInterface({ input: this.child.stdout })) return line;
    throw new Error(`${this.name} did not start:\n${readFileSync(this.logFile, 'utf8')}`);
  }

  async stop() {
    this.child.kill('SIGTERM');
    await this.ended;
  }
}

function program(variable) {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} must name the built program; run \`./test conformance\``);
  return path;
}
