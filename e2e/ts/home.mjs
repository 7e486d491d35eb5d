// Starts the built binary for each test and waits for what it prints; nothing here sleeps.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const PATIENCE = 60_000;

const binary = process.env.TOOLGATE_BIN;
if (!binary || !existsSync(binary)) {
  throw new Error('TOOLGATE_BIN must name the built binary; run `./test e2e`');
}

/** A folder with the data of one gate, and the ways to run the binary on it. */
export class Home {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'toolgate-e2e-'));
    this.data = join(this.folder, 'data');
    this.gates = [];
  }

  /** What a client launches. */
  pipe(...flags) {
    const args = ['serve', '--quiet', ...flags, '--data', this.data];
    return { command: binary, args, cwd: this.folder };
  }

  /** Starts a gate that listens; resolves to where it says it does. */
  async up(...flags) {
    const args = ['up', '--port', '0', '--json', ...flags, '--data', this.data];
    const log = openSync(join(this.folder, 'stderr.log'), 'w');
    const gate = spawn(binary, args, { cwd: this.folder, stdio: ['ignore', 'pipe', log] });
    this.gates.push(gate);
    for await (const line of createInterface({ input: gate.stdout })) {
      return new URL(JSON.parse(line).url);
    }
    throw new Error(readFileSync(join(this.folder, 'stderr.log'), 'utf8'));
  }

  /** A second process, run to its end; its answer as JSON. */
  run(...args) {
    const all = [...args, '--json', '--data', this.data];
    return JSON.parse(execFileSync(binary, all, { cwd: this.folder, timeout: PATIENCE }));
  }

  lastStatus() {
    return this.run('records', 'list', '--limit', '1')[0]?.status;
  }

  /** Looks until the newest record has this status: records close when calls do. */
  async untilStatus(wanted) {
    const deadline = Date.now() + PATIENCE;
    while (this.lastStatus() !== wanted) {
      if (Date.now() > deadline) throw new Error(`no record became ${wanted}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Ends every gate; each must end well. */
  async close() {
    const ends = this.gates.map((gate) => {
      if (gate.exitCode !== null) return gate.exitCode;
      const ended = new Promise((resolve) => gate.once('exit', resolve));
      gate.kill('SIGTERM');
      return ended;
    });
    const codes = await Promise.all(ends);
    rmSync(this.folder, { recursive: true, force: true });
    if (codes.some((code) => code !== 0)) throw new Error(`gates ended with ${codes}`);
  }
}
