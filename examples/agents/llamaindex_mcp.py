"""LlamaIndex over MCP: the model searches for tools and calls them by itself. Needs llama-index-core, llama-index-llms-openai-like, llama-index-tools-mcp."""
import asyncio, os, sys
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

toolstream = BasicMCPClient(os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665") + "/mcp",
                            headers={"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")})
llm = OpenAILike(model="gpt-5.4", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"],
                 is_chat_model=True, is_function_calling_model=True)


async def main():
    tools = await McpToolSpec(toolstream).to_tool_list_async()
    print(await FunctionAgent(tools=tools, llm=llm, streaming=False).run(sys.argv[1]))


asyncio.run(main())
