"""One round through the gate with mcp 1.x; prints what it saw as JSON."""

import json
import sys

import anyio
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client


def connect(wire: str, where: list[str]):
    match wire:
        case "stdio":
            return stdio_client(StdioServerParameters(command=where[0], args=where[1:]))
        case "sse":
            return sse_client(where[0])
        case _:
            return streamable_http_client(where[0])


async def main(wire: str, where: list[str]) -> None:
    steps: list[float] = []

    async def heard(progress: float, *_: object) -> None:
        steps.append(progress)

    async with connect(wire, where) as (read, write, *_), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        revenue = await session.call_tool("reports_summarize_revenue", {})
        failed = await session.call_tool("reports_compare_warehouse", {"dataset": "ledger"})
        slow = {"year": 2026, "steps": 2, "step_ms": 5}
        await session.call_tool("reports_build_annual", slow, progress_callback=heard)
        try:
            await session.call_tool("no_such_tool", {})
            unknown = None
        except McpError as error:
            unknown = error.error.code
    seen = {
        "server": hello.serverInfo.name,
        "revision": hello.protocolVersion,
        "tools": len(tools.tools),
        "revenue": "net_inr" in (revenue.structuredContent or {}),
        "failed": failed.isError,
        "unknown": unknown,
        "steps": steps,
    }
    print(json.dumps(seen))


anyio.run(main, sys.argv[1], sys.argv[2:])
