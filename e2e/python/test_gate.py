"""The official Python SDK as a client of the built binary, over every transport and both eras."""

import base64
import json
import re

import anyio
import pytest
from mcp import MCPError

WIRES = ["stdio", "stdio-modern", "http", "http-modern", "sse"]
REFUND = {
    "transaction_id": "txn_8f3k2a",
    "amount_inr": 1499,
    "currency": "INR",
    "reason_code": "customer_request",
    "idempotency_key": "ik_0123456789abcdef",
}

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("over", WIRES)]


def text(result) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


async def execute(client, tool: str, arguments: dict):
    return await client.call_tool("tool_execute", {"tool_id": tool, "args": arguments})


async def test_the_sdk_introduces_itself_and_lists(home, over):
    async with home.client(over, "--name", "example-gateway") as client:
        assert client.server_info.name == "example-gateway"
        expected = "2026-07-28" if over.endswith("modern") else "2025-11-25"
        assert client.protocol_version == expected
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["tool_browse", "tool_execute", "tool_view"]


async def test_a_large_result_is_browsed_for_called_and_viewed(home, over):
    async with home.client(over) as client:
        found = await client.call_tool("tool_browse", {"query": "export the ledger"})
        assert "reports_export_ledger" in text(found)
        called = await execute(client, "reports_export_ledger", {})
        assert not called.is_error
        assert len(text(called)) < 6_000
        handle = re.search(r"art_\w+", text(called)).group()
        selector = {"type": "json_pointer", "pointer": "/row_count"}
        seen = await client.call_tool("tool_view", {"handle": handle, "selector": selector})
        assert "500" in text(seen)
    assert home.last_status() == "completed"


async def test_an_image_comes_through_whole(home, over):
    async with home.client(over, "--mode", "native") as client:
        drawn = await client.call_tool("weather_render_map", {"city": "Mumbai"})
        assert not drawn.is_error, text(drawn)
        images = [block for block in drawn.content if block.type == "image"]
        assert len(images) == 1 and images[0].mime_type == "image/png"
        assert base64.b64decode(images[0].data).startswith(b"\x89PNG\r\n\x1a\n")


async def test_a_tool_that_fails_is_an_answer(home, over):
    async with home.client(over, "--mode", "native") as client:
        failed = await client.call_tool("reports_compare_warehouse", {"dataset": "ledger"})
        assert failed.is_error and "key has expired" in text(failed)


async def test_wrong_arguments_can_be_corrected(home, over):
    async with home.client(over, "--mode", "native") as client:
        refused = await client.call_tool("reports_compare_warehouse", {"dataset": "moon"})
        assert refused.is_error and "ARGS_INVALID" in text(refused)


async def test_an_unknown_tool_is_an_error(home, over):
    async with home.client(over) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("no_such_tool", {})
        assert caught.value.error.code == -32602
        assert "no_such_tool" in caught.value.error.message


async def test_progress_arrives_before_the_answer(home, over):
    steps = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total))

    async with home.client(over, "--mode", "native") as client:
        arguments = {"year": 2026, "steps": 3, "step_ms": 5}
        built = await client.call_tool("reports_build_annual", arguments, progress_callback=heard)
        assert built.structured_content["report_id"] == "rpt_2026"
    assert steps == [(1, 3), (2, 3), (3, 3)]


async def test_a_cancelled_call_ends_and_the_gate_goes_on(home, over):
    begun = anyio.Event()

    async def heard(*_: object) -> None:
        begun.set()

    async with home.client(over, "--mode", "native") as client:
        arguments = {"year": 2026, "steps": 100, "step_ms": 500}
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await client.call_tool("reports_build_annual", arguments, progress_callback=heard)

            tasks.start_soon(call)
            await begun.wait()
            tasks.cancel_scope.cancel()
        await home.until_status("cancelled")
        reports = await client.call_tool("reports_list_reports", {})
        assert reports.structured_content["total"] == 0


async def test_a_refund_waits_for_a_person_and_then_shows_in_the_ledger(home, over):
    async with home.client(over) as client:
        asked = await execute(client, "payments_issue_refund", REFUND)
        assert asked.is_error and "APPROVAL_PENDING" in text(asked)
        waiting = home.run("approvals", "list")
        assert [approval["args"] for approval in waiting] == [REFUND]
        home.run("approvals", "approve", waiting[0]["approval_id"], "--reason", "checked")
        done = await execute(client, "payments_issue_refund", REFUND)
        assert not done.is_error, text(done)
        again = await execute(client, "payments_issue_refund", REFUND)
        assert not again.is_error, "the same key gives the same answer"
        ledger = await execute(client, "payments_list_ledger", {"limit": 3})
        newest = json.loads(text(ledger))["entries"][0]
        assert (newest["kind"], newest["transaction_id"]) == ("refund", "txn_8f3k2a")
    totals = home.run("records", "list", "--status", "completed")
    assert [line["tool"] for line in totals].count("demo/payments_issue_refund") == 2
