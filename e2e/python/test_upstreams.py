"""Real servers behind the gate: written with the SDKs, started by Toolgate, used through it."""

import json
import os
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TS = HERE.parent / "ts"

pytestmark = pytest.mark.anyio


def upstreams(new_python: str, old_python: str) -> dict[str, list[str]]:
    node = os.environ.get("TOOLGATE_E2E_NODE") or shutil.which("node")
    return {
        "py2": [new_python, str(HERE / "server_v2.py")],
        "py1": [old_python, str(HERE / "server_v1.py")],
        "ts1": [node, str(TS / "server_v1.mjs")],
        "ts2": [node, str(TS / "server_v2.mjs")],
    }


def configure(home, servers: dict[str, list[str]]) -> None:
    entries = {name: {"command": line[0], "args": line[1:]} for name, line in servers.items()}
    config = {"mode": "native", "upstreams": entries}
    (home.folder / "gate.json").write_text(json.dumps(config))


@pytest.mark.parametrize("over", ["stdio", "http-modern"])
async def test_servers_of_four_sdks_are_one_catalogue(home, over, new_python, old_python):
    servers = upstreams(new_python, old_python)
    configure(home, servers)
    async with home.client(over, "--config", "gate.json") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        for server in servers:
            (add,) = [name for name in names if name.endswith(f"{server}_add")]
            (fail,) = [name for name in names if name.endswith(f"{server}_fail")]
            added = await client.call_tool(add, {"a": 2, "b": 40})
            assert not added.is_error and "42" in added.content[0].text, added
            failed = await client.call_tool(fail, {})
            assert failed.is_error and "as it should" in failed.content[0].text, failed
            wrong = await client.call_tool(add, {"a": "two", "b": 40})
            assert wrong.is_error and "ARGS_INVALID" in wrong.content[0].text, wrong


async def test_a_server_that_does_not_start_is_named_and_the_others_serve(home, new_python):
    servers = {"good": [new_python, str(HERE / "server_v2.py")], "bad": ["/nowhere/at/all"]}
    configure(home, servers)
    async with home.client("http", "--config", "gate.json") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert any(name.endswith("py2_add") for name in names)
    assert "bad" in (home.folder / "stderr.log").read_text()
