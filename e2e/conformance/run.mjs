// The official conformance suite against the fixture, and against the gate in front of it.
//
//   ./test conformance                                       both sides, both requirement sets
//   ./test conformance --through --requirements 2026-07-28   one of four
//   ./test conformance --through --requirements 2026-07-28 --scenario tools-call-simple-text
//   ./test conformance --client --requirements 2026-07-28    the gate as a client of the suite's servers
//   ./test conformance --requirements 2026-07-28 --list      the scenarios there are
//
// --pipe        the gate starts the fixture itself and speaks to it over a pipe
// --protocol P  the gate speaks this revision to the fixture, instead of the set's own

import { parseArgs } from 'node:util';

import { names as played } from '../ts/conformance_client.mjs';
import { direct, through } from './sides.mjs';
import { run, runClient, scenarios } from './suite.mjs';

const SETS = ['2025-11-25', '2026-07-28'];

/** It looks at streams, and the gate gives one answer as one JSON object, which it then accepts. */
const ONLY_ABOUT_STREAMS = 'server-sse-polling';

const { values: flags } = parseArgs({
  options: {
    direct: { type: 'boolean' },
    through: { type: 'boolean' },
    client: { type: 'boolean' },
    pipe: { type: 'boolean' },
    list: { type: 'boolean' },
    requirements: { type: 'string', multiple: true },
    scenario: { type: 'string' },
    protocol: { type: 'string' },
  },
});
const sets = flags.requirements ?? SETS;
const all = !flags.direct && !flags.through && !flags.client;
const both = all || (flags.direct && flags.through);

if (flags.list) {
  for (const requirements of sets) {
    for (const name of await scenarios(requirements)) console.log(`${requirements} ${name}`);
  }
} else {
  let green = true;
  for (const requirements of sets) {
    const good = await judge(requirements).catch((error) => console.log(`${requirements}: ${error.message}`));
    green = Boolean(good) && green;
  }
  process.exitCode = green ? 0 : 1;
}

/** Runs one requirement set on the sides asked for; says which side is to blame. */
async function judge(requirements) {
  const found = [];
  if (all || flags.direct) found.push(await direct(side('fixture', requirements)));
  if (all || flags.through) {
    const upstream = { protocol: flags.protocol ?? requirements, pipe: flags.pipe };
    found.push(await through(upstream, side('gate', requirements)));
  }
  const lost = both ? lostOnTheWay(...found) : [];
  for (const check of lost) console.log(`gate ${requirements}: no longer checked: ${check}`);
  if (all || flags.client) found.push(await client(requirements));
  return lost.length === 0 && found.every(({ bad }) => bad.length === 0);
}

/** The gate as the client of the suite's own servers, with an official client in front of it. */
async function client(requirements) {
  const known = await scenarios(requirements, 'client');
  // The gate signs in nowhere yet, so nothing can be said about how it does.
  const signIn = known.filter((name) => name.startsWith('auth/'));
  const strange = known.filter((name) => !played.includes(name) && !signIn.includes(name));
  if (strange.length > 0) throw new Error(`no client for ${strange}`);
  const wanted = known.filter((name) => played.includes(name) && name === (flags.scenario ?? name));
  const found = { checks: [], bad: [] };
  for (const scenario of wanted) {
    const name = `client-${requirements}-${scenario}`;
    const { checks, bad, folder } = await runClient({ requirements, scenario, name });
    for (const check of bad) {
      console.log(`client ${requirements}: ${check.status} ${check.scenario} ${check.id}: ${check.errorMessage}`);
    }
    if (bad.length > 0) console.log(`  what was seen: ${folder}`);
    found.checks.push(...checks);
    found.bad.push(...bad);
  }
  const good = found.checks.filter((check) => check.status === 'SUCCESS').length;
  console.log(
    `client ${requirements}: ${wanted.length} scenarios, ${good} checks passed, ${found.bad.length} failed; ${signIn.length} about signing in left out`,
  );
  return found;
}

/** What passes on the fixture and through the gate is not even looked at, as if it were not there. */
function lostOnTheWay(fixture, gate) {
  const seen = new Set(gate.checks.filter((check) => check.status !== 'SKIPPED').map(nameOf));
  const passed = fixture.checks.filter(({ status, scenario }) => status === 'SUCCESS' && scenario !== ONLY_ABOUT_STREAMS);
  return passed.map(nameOf).filter((name) => !seen.has(name));
}

function nameOf({ scenario, id }) {
  return `${scenario} ${id}`;
}

/** Runs the suite against one address and prints what is wrong. */
function side(name, requirements) {
  return async (url, process) => {
    const started = performance.now();
    const options = { url, requirements, scenario: flags.scenario, name: `${name}-${requirements}` };
    const { checks, bad, folder } = await run(options);
    for (const check of bad) {
      console.log(`${name} ${requirements}: ${check.status} ${check.scenario} ${check.id}: ${check.errorMessage}`);
    }
    const good = checks.filter((check) => check.status === 'SUCCESS').length;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${name} ${requirements}: ${good} checks passed, ${bad.length} failed, in ${seconds} s`);
    if (bad.length > 0) console.log(`  what was seen: ${folder}\n  what was logged: ${process.logFile}`);
    return { checks, bad };
  };
}
