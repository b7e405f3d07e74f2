"""An MCP server whose list changes: POST /tools/NAME adds a tool, DELETE removes it."""

import sys

from fastmcp import FastMCP
from fastmcp.tools import Tool
from starlette.responses import Response

server = FastMCP("Harbour", instructions="Rents and mends boats.")


@server.tool
def rent_boat(hours: int) -> str:
    """Rents a boat for some hours."""
    return f"a boat for {hours} hours"


@server.custom_route("/tools/{name}", methods=["POST", "DELETE"])
async def change(request):
    name = request.path_params["name"]
    if request.method == "DELETE":
        server.local_provider.remove_tool(name)
    else:
        server.add_tool(Tool.from_function(lambda: "done", name=name, description="Mends a torn net."))
    return Response(status_code=204)


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]))
