"""OpenAI Responses API: the model's own tool search, which this program answers. Needs openai, httpx."""
import json, os, sys
import httpx
from openai import OpenAI

api = httpx.Client(base_url=os.environ.get("TOOLSTREAM_SERVER", "http://127.0.0.1:8665"), timeout=90,
                   headers={"Authorization": "Bearer " + os.environ.get("TOOLSTREAM_TOKEN", "none")})
search = {"type": "tool_search", "execution": "client", "description": "Finds tools by what you want to do.",
          "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}
items = [{"role": "user", "content": sys.argv[1]}]
while not items or items[-1].get("type") != "message":
    response = OpenAI().responses.create(model="gpt-5.4", input=items, tools=[search])
    items += [item.to_dict() for item in response.output]
    for call in response.output:
        if call.type == "tool_search_call":
            found = api.post("/v1/search", json={"query": call.arguments["query"], "k": 5, "connected": True, "as": "tool_search_output", "call_id": call.call_id})
            items.append(found.raise_for_status().json()["tools"])
        elif call.type == "function_call":
            result = api.post(f"/v1/tools/{call.name}:call", json={"arguments": json.loads(call.arguments)})
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result.text})
print(response.output_text)
