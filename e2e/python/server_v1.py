"""A small real server on the first major version of the Python SDK."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("py1")


@server.tool()
def py1_add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def py1_fail() -> str:
    """Fail on purpose."""
    raise ValueError("this tool fails as it should")


if __name__ == "__main__":
    server.run("stdio")
