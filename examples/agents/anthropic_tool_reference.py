"""Anthropic Messages API: a tool search of one's own, answered with references to tools. Needs anthropic, httpx."""
import os, sys
import httpx
from anthropic import Anthropic

api = httpx.Client(base_url=os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665"), timeout=90,
                   headers={"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")})
tools = {"search_tools": {"name": "search_tools", "description": "Finds tools by what you want to do.",
                          "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}
messages, stop = [{"role": "user", "content": sys.argv[1]}], "tool_use"
while stop == "tool_use":
    reply = Anthropic().messages.create(model="claude-opus-4-5", max_tokens=4096, tools=list(tools.values()), messages=messages)
    messages, stop, results = messages + [{"role": "assistant", "content": reply.content}], reply.stop_reason, []
    for use in (block for block in reply.content if block.type == "tool_use"):
        if use.name == "search_tools":
            found = api.post("/v1/search", json={"query": use.input["query"], "k": 5, "connected": True, "as": "anthropic"}).raise_for_status().json()["tools"]
            tools |= {tool["name"]: tool | {"defer_loading": True} for tool in found}
            content = [{"type": "tool_reference", "tool_name": tool["name"]} for tool in found]
        else:
            content = api.post(f"/v1/tools/{use.name}:call", json={"arguments": use.input}).text
        results.append({"type": "tool_result", "tool_use_id": use.id, "content": content})
    messages += [{"role": "user", "content": results}] if results else []
print(reply.content[0].text)
