import anyio
from mcp import Client


async def main() -> None:
    async with Client("http://127.0.0.1:8642/mcp") as client:
        for tool in (await client.list_tools()).tools:
            print(tool.name)


anyio.run(main)
