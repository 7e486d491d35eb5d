// What the suite takes for a client: a gate in front of the suite's server, and an official client in
// front of the gate. The suite adds the address of its server as the last argument.

import { play } from '../ts/conformance_client.mjs';
import { gate } from './sides.mjs';

const url = process.argv.at(-1);

// A gate without tools does not start, and the servers of these scenarios have none.
const bare = ['initialize', 'request-metadata'].includes(process.env.MCP_CONFORMANCE_SCENARIO);
const beside = { beside: { type: 'stub', tools: [{ name: 'beside', inputSchema: { type: 'object' } }] } };

await gate({ suite: { url, required: !bare }, ...(bare ? beside : {}) }, play);
