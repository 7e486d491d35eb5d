"""A small real server on the current Python SDK."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("py2")


@server.tool()
def py2_add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def py2_fail() -> str:
    """Fail on purpose."""
    raise ToolError("this tool fails as it should")


if __name__ == "__main__":
    server.run("stdio")
