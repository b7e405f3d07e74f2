"""OpenAI Agents SDK over MCP: the model searches for tools and calls them by itself. Needs openai-agents."""
import asyncio, os, sys
from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp


async def main():
    async with MCPServerStreamableHttp(cache_tools_list=True, params={
        "url": os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665") + "/mcp", "timeout": 90,
        "headers": {"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")},
    }) as toolstream:
        result = await Runner.run(Agent(name="Assistant", model="gpt-5.4", mcp_servers=[toolstream]), sys.argv[1])
        print(result.final_output)


asyncio.run(main())
