"""Starts the built binary for each test and waits for what it prints; nothing here sleeps."""

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PATIENCE = 60


def binary() -> str:
    path = os.environ.get("TOOLGATE_BIN")
    if not path or not Path(path).exists():
        pytest.exit("TOOLGATE_BIN must name the built binary; run `./test e2e`", returncode=2)
    return path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Home:
    """A folder with the data of one gate, and the ways to run the binary on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.gates: list[subprocess.Popen[str]] = []

    def command(self, *arguments: str) -> list[str]:
        return [binary(), *arguments, "--data", str(self.data)]

    def run(self, *arguments: str) -> object:
        """A second process, run to its end; its answer as JSON."""
        command = self.command(*arguments, "--json")
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def up(self, *arguments: str) -> str:
        """Starts a gate that listens; returns where it says it does."""
        log = (self.folder / "stderr.log").open("w")
        command = self.command("up", "--port", "0", "--json", *arguments)
        gate = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.folder)
        self.gates.append(gate)
        line = gate.stdout.readline()
        assert line, (self.folder / "stderr.log").read_text()
        return json.loads(line)["url"]

    def pipe(self, *arguments: str) -> StdioServerParameters:
        command, *rest = self.command("serve", "--quiet", *arguments)
        return StdioServerParameters(command=command, args=rest, cwd=self.folder)

    @asynccontextmanager
    async def client(self, over: str, *flags: str):
        """An SDK client in front of a new gate: `stdio`, `http` or `sse`, `-modern` for no session."""
        wire, _, era = over.partition("-")
        mode = "auto" if era == "modern" else "legacy"
        match wire:
            case "stdio":
                server = self.pipe(*flags)
            case "http":
                server = self.up(*flags)
            case "sse":
                server = sse_client(self.up("--transport", "sse", *flags))
        with anyio.fail_after(PATIENCE):
            async with Client(server, mode=mode) as client:
                yield client

    async def until_status(self, wanted: str) -> None:
        """Looks until the newest record has this status: records close when calls do."""
        with anyio.fail_after(PATIENCE):
            while self.last_status() != wanted:
                await anyio.lowlevel.checkpoint()

    def last_status(self) -> str | None:
        records = self.run("records", "list", "--limit", "1")
        return records[0]["status"] if records else None

    def close(self) -> None:
        for gate in self.gates:
            gate.terminate()
        for gate in self.gates:
            assert gate.wait(PATIENCE) == 0, (self.folder / "stderr.log").read_text()


@pytest.fixture
def home(tmp_path: Path):
    home = Home(tmp_path)
    yield home
    home.close()


@pytest.fixture
def old_python() -> str:
    """The interpreter that has the SDK's first major version."""
    path = os.environ.get("TOOLGATE_E2E_PYTHON_V1")
    if not path or not Path(path).exists():
        pytest.exit("TOOLGATE_E2E_PYTHON_V1 must name an interpreter; run `./test e2e`", returncode=2)
    return path


@pytest.fixture
def new_python() -> str:
    return sys.executable
