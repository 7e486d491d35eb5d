"""The SDK's first major version, which many clients still use, in a process of its own."""

import json
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "old_client.py"


@pytest.mark.parametrize("wire", ["stdio", "http", "sse"])
def test_a_client_of_the_first_version_works(home, old_python, wire):
    match wire:
        case "stdio":
            where = home.command("serve", "--quiet", "--mode", "native")
        case "http":
            where = [home.up("--mode", "native")]
        case "sse":
            where = [home.up("--mode", "native", "--transport", "sse")]
    done = subprocess.run(
        [old_python, str(SCRIPT), wire, *where], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen == {
        "server": "toolgate",
        "revision": "2025-11-25",
        "tools": 43,
        "revenue": True,
        "failed": True,
        "unknown": -32602,
        "steps": [1, 2],
    }
