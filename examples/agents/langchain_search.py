"""LangChain over HTTP: each model call is given the tools that fit what the user asks for. Needs langchain, langchain-openai, httpx."""
import os, sys
import httpx
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage

api = httpx.Client(base_url=os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665"), timeout=90,
                   headers={"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")})


class FoundTools(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        asked = [message for message in request.messages if message.type == "human"][-1].text
        found = api.post("/v1/search", json={"query": asked, "k": 5, "connected": True, "as": "anthropic"})
        return handler(request.override(tools=found.raise_for_status().json()["tools"]))

    def wrap_tool_call(self, request, handler):
        call = request.tool_call
        result = api.post(f"/v1/tools/{call['name']}:call", json={"arguments": call["args"]})
        return ToolMessage(result.text, tool_call_id=call["id"])


agent = create_agent("openai:gpt-5.4", middleware=[FoundTools()])
print(agent.invoke({"messages": sys.argv[1]})["messages"][-1].text)
