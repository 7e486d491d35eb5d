// The official TypeScript SDKs as clients of the built binary.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Home, PATIENCE } from './home.mjs';
import { links } from './links.mjs';

const REFUND = {
  transaction_id: 'txn_8f3k2a',
  amount_inr: 1499,
  currency: 'INR',
  reason_code: 'customer_request',
  idempotency_key: 'ik_0123456789abcdef',
};

const text = (result) => result.content.map((block) => block.text ?? '').join('');

for (const link of links) {
  describe(link.name, () => {
    /** Runs the body with a connected client in front of a new gate. */
    const check = (name, flags, body) =>
      test(name, { timeout: PATIENCE }, async () => {
        const home = new Home();
        try {
          const client = link.client();
          await client.connect(await link.transport(home, flags));
          const use = (tool, args, options) =>
            // The second version of the SDK has no schema parameter in between.
            link.name.startsWith('sdk 1')
              ? client.callTool({ name: tool, arguments: args }, undefined, options)
              : client.callTool({ name: tool, arguments: args }, options);
          try {
            await body({ home, client, use });
          } finally {
            await client.close();
          }
        } finally {
          await home.close();
        }
      });
    const native = ['--mode', 'native'];

    check('introduces itself and lists', ['--name', 'example-gateway'], async ({ client }) => {
      assert.equal(client.getServerVersion().name, 'example-gateway');
      const revision = client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion;
      if (revision !== undefined) assert.equal(revision, link.revision);
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.name), ['tool_browse', 'tool_execute', 'tool_view']);
    });

    check('finds a tool, calls it and looks into its large result', [], async ({ use }) => {
      assert.match(text(await use('tool_browse', { query: 'export the ledger' })), /reports_export_ledger/);
      const called = await use('tool_execute', { tool_id: 'reports_export_ledger', args: {} });
      assert.ok(text(called).length < 6_000);
      const [handle] = text(called).match(/art_\w+/);
      const selector = { type: 'json_pointer', pointer: '/row_count' };
      assert.match(text(await use('tool_view', { handle, selector })), /500/);
    });

    check('gets an image whole', native, async ({ use }) => {
      const drawn = await use('weather_render_map', { city: 'Mumbai' });
      const image = drawn.content.find((block) => block.type === 'image');
      assert.equal(image.mimeType, 'image/png');
      assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG');
    });

    check('hears of a tool that failed', native, async ({ use, home }) => {
      const failed = await use('reports_compare_warehouse', { dataset: 'ledger' });
      assert.equal(failed.isError, true);
      assert.match(text(failed), /key has expired/);
      assert.equal(home.lastStatus(), 'failed');
    });

    check('hears of a tool that does not exist', [], async ({ use }) => {
      await assert.rejects(use('no_such_tool', {}), (error) => {
        assert.equal(error.code, -32602);
        assert.match(error.message, /no_such_tool/);
        return true;
      });
    });

    check('hears of progress before the answer', native, async ({ use }) => {
      const steps = [];
      const onprogress = ({ progress, total }) => steps.push([progress, total]);
      const args = { year: 2026, steps: 3, step_ms: 100 };
      const built = await use('reports_build_annual', args, { onprogress });
      assert.equal(built.structuredContent.report_id, 'rpt_2026');
      // The last news comes with the answer, and over a pipe the SDK then drops it.
      const all = [[1, 3], [2, 3], [3, 3]];
      assert.ok(steps.length >= 2, `${steps}`);
      assert.deepEqual(steps, all.slice(0, steps.length));
    });

    check('cancels a call, and the gate goes on', native, async ({ use, home }) => {
      const stop = new AbortController();
      const args = { year: 2026, steps: 100, step_ms: 500 };
      const options = { signal: stop.signal, onprogress: () => stop.abort('enough') };
      await assert.rejects(use('reports_build_annual', args, options));
      await home.untilStatus('cancelled');
      const reports = await use('reports_list_reports', {});
      assert.equal(reports.structuredContent.total, 0);
    });

    check('waits for a person to approve a refund', native, async ({ use, home }) => {
      const asked = await use('payments_issue_refund', REFUND);
      assert.match(text(asked), /APPROVAL_PENDING/);
      const [approval] = home.run('approvals', 'list');
      assert.deepEqual(approval.args, REFUND);
      home.run('approvals', 'approve', approval.approval_id);
      const done = await use('payments_issue_refund', REFUND);
      assert.notEqual(done.isError, true, text(done));
      const ledger = await use('payments_list_ledger', { limit: 3 });
      const [newest] = ledger.structuredContent.entries;
      assert.deepEqual([newest.kind, newest.transaction_id], ['refund', 'txn_8f3k2a']);
    });
  });
}
