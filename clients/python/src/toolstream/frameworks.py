"""Tools of LangChain and of LlamaIndex. Each framework is imported where it is wanted."""

from __future__ import annotations

from typing import Any

from .client import Problem


def _functions(name: str, sync: Any, run: Any) -> tuple[Any, Any]:
    def call(**arguments: Any) -> Any:
        return sync(name, arguments)

    async def acall(**arguments: Any) -> Any:
        return await run(name, arguments)

    return (call if sync else None), (acall if run else None)


def langchain(tool: dict[str, Any], sync: Any, run: Any) -> Any:
    """A definition of MCP as a StructuredTool of LangChain. A model reads what is wrong with a call, and can mend it."""
    from langchain_core.tools import StructuredTool, ToolException

    def told(name: str, arguments: dict[str, Any]) -> Any:
        try:
            return sync(name, arguments)
        except Problem as problem:
            raise ToolException(str(problem)) from problem

    async def atold(name: str, arguments: dict[str, Any]) -> Any:
        try:
            return await run(name, arguments)
        except Problem as problem:
            raise ToolException(str(problem)) from problem

    call, acall = _functions(tool["name"], sync and told, run and atold)
    return StructuredTool(
        name=tool["name"], description=tool.get("description") or tool["name"],
        args_schema=tool["inputSchema"], func=call, coroutine=acall, handle_tool_error=True,
    )


def llamaindex(tool: dict[str, Any], sync: Any, run: Any) -> Any:
    """A definition of MCP as a FunctionTool of LlamaIndex."""
    from llama_index.core.tools import FunctionTool, ToolMetadata

    class Described(ToolMetadata):  # type: ignore[misc]
        def get_parameters_dict(self) -> dict[str, Any]:
            return dict(tool["inputSchema"])

    call, acall = _functions(tool["name"], sync, run)
    metadata = Described(name=tool["name"], description=tool.get("description") or tool["name"], fn_schema=None)
    return FunctionTool(fn=call, async_fn=acall, metadata=metadata)
