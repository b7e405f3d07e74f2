"""LangChain over MCP: the model searches for tools and calls them by itself. Needs langchain, langchain-openai, langchain-mcp-adapters."""
import asyncio, os, sys
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    client = MultiServerMCPClient({"toolstream": {
        "transport": "streamable_http",
        "url": os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665") + "/mcp",
        "headers": {"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")},
    }})
    agent = create_agent("openai:gpt-5.4", await client.get_tools())
    answer = await agent.ainvoke({"messages": sys.argv[1]})
    print(answer["messages"][-1].text)


asyncio.run(main())
