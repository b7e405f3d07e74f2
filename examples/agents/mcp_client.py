"""Any MCP client: find a tool, and call the best one with arguments of its schema. Needs mcp>=2.0, httpx2."""
import asyncio, json, os, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

http = httpx2.AsyncClient(timeout=90, headers={"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")})
url = os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665") + "/mcp"


async def main(query, arguments):
    async with Client(streamable_http_client(url, http_client=http)) as toolstream:
        found = json.loads((await toolstream.call_tool("search_tools", {"query": query})).content[0].text)
        best = found["tools"][0]
        print(best["name"], best["description"])
        result = await toolstream.call_tool("call_tool", {"tool_name": best["name"], "arguments": json.loads(arguments), "search_id": found["search_id"]})
        print(result.content[0].text)


asyncio.run(main(*sys.argv[1:]))
