// Debian's Chromium, without a window, on a page that reports what it could do.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The attacker's host. Chromium resolves it to an address of this machine that is not the gate's. */
export const EVIL = 'evil.test';
const EVIL_ADDRESS = '127.0.0.2';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${EVIL} ${EVIL_ADDRESS}`,
];

/** Opens the page in a new browser; resolves to what the page reports. */
export async function visit(url, reported) {
  const profile = mkdtempSync(join(tmpdir(), 'toolgate-chromium-'));
  const browser = spawn('chromium', [...FLAGS, `--user-data-dir=${profile}`, url], { stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => browser.once('exit', resolve));
  try {
    const early = ended.then((code) => Promise.reject(new Error(`chromium ended with ${code}`)));
    return await Promise.race([reported, early]);
  } finally {
    // The whole group: Chromium is many processes.
    process.kill(-browser.pid, 'SIGKILL');
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A page of another origin; its text, or what makes it when it is asked for. */
export async function foreignPage(html) {
  const { reported, answer } = report(html);
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => response.end(answer(request.url, body)));
  });
  await listen(server, 0);
  return { url: `http://${EVIL}:${server.address().port}/page`, reported, close: () => server.close() };
}

/**
 * A page whose host name comes to mean the gate's address once it is loaded, as a rebinding name
 * server makes it: everything but the page and its report goes to the gate, byte for byte.
 */
export async function reboundPage(html, port) {
  const { reported, answer } = report(html);
  const server = createTcpServer((client) => {
    client.on('error', () => {});
    client.once('data', (first) => {
      const [head, body = ''] = first.toString().split('\r\n\r\n');
      const [, path] = head.split(' ');
      if (path === '/page' || path === '/report') {
        const text = answer(path, body);
        client.end(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
        return;
      }
      const gate = connect(port, '127.0.0.1');
      gate.on('error', () => client.destroy());
      gate.write(first);
      client.pipe(gate).pipe(client);
    });
  });
  await listen(server, port);
  return { url: `http://${EVIL}:${port}/page`, reported, close: () => server.close() };
}

function report(html) {
  let resolve;
  const reported = new Promise((settle) => (resolve = settle));
  const answer = (path, body) => {
    if (path === '/report') resolve(JSON.parse(body));
    if (path !== '/page') return '';
    return typeof html === 'function' ? html() : html;
  };
  return { reported, answer };
}

function listen(server, port) {
  return new Promise((resolve, reject) => server.once('error', reject).listen(port, EVIL_ADDRESS, resolve));
}
