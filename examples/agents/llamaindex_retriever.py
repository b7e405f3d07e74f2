"""LlamaIndex over HTTP: a tool retriever, which gives the model the tools that fit. Needs llama-index-core, llama-index-llms-openai-like, llama-index-tools-mcp, httpx."""
import asyncio, os, sys
import httpx
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.objects import ObjectRetriever
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import McpToolSpec
from mcp.types import ListToolsResult

api = httpx.AsyncClient(base_url=os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665"), timeout=90,
                        headers={"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")})
llm = OpenAILike(model="gpt-5.4", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"],
                 is_chat_model=True, is_function_calling_model=True)


class FoundTools(ObjectRetriever):
    async def aretrieve(self, query):
        answer = await api.post("/v1/search", json={"query": query, "k": 5, "connected": True, "as": "mcp"})
        self.tools = answer.raise_for_status().json()["tools"]
        return await McpToolSpec(self).to_tool_list_async()

    async def list_tools(self):
        return ListToolsResult(tools=self.tools)

    async def call_tool(self, name, arguments):
        return (await api.post(f"/v1/tools/{name}:call", json={"arguments": arguments})).text


async def main():
    print(await FunctionAgent(tool_retriever=FoundTools(None, None), llm=llm, streaming=False).run(sys.argv[1]))


asyncio.run(main())
