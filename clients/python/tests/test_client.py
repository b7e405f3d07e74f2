"""Against a server on the sample registry, at TOOLSTREAM_URL."""

from __future__ import annotations

import asyncio
import os
import unittest

from toolstream import AsyncToolstream, Problem, Toolstream
from toolstream.frameworks import langchain, llamaindex

URL = os.environ["TOOLSTREAM_URL"]
DEFINITION = {
    "name": "add", "description": "Adds two numbers.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
}


class Client(unittest.TestCase):
    def test_a_search_and_its_feedback(self) -> None:
        server = Toolstream(URL)
        found = server.search("will it rain in Lisbon tomorrow?", k=3)
        self.assertEqual(len(found), 3)
        self.assertGreater(found[0].score, found[2].score)
        server.feedback(found, found[0], "selected")

    def test_a_search_by_coroutine(self) -> None:
        async def run() -> None:
            server = AsyncToolstream(URL)
            found = await server.search("will it rain in Lisbon tomorrow?", k=2)
            self.assertEqual(len(found), 2)
            await server.feedback(found, found[0], "called")

        asyncio.run(run())

    def test_problems_point_into_the_request(self) -> None:
        with self.assertRaises(Problem) as raised:
            Toolstream(URL).search("rain", rank="all")
        self.assertEqual(raised.exception.status, 422)
        self.assertEqual(raised.exception.errors[0]["location"], "/body/rank")

    def test_what_is_no_tool_cannot_be_called(self) -> None:
        with self.assertRaises(Problem) as raised:
            Toolstream(URL).call("no/such tool", {})
        self.assertEqual(raised.exception.status, 404)

    def test_tools_for_a_model(self) -> None:
        for form, members in (("openai", {"type", "parameters"}), ("anthropic", {"name", "input_schema"}), ("mcp", {"name", "inputSchema"})):
            tools = Toolstream(URL).tools_for("will it rain in Lisbon tomorrow?", as_=form, k=2)  # type: ignore[arg-type]
            self.assertEqual(len(tools), 2, form)
            self.assertLessEqual(members, set(tools[0]), form)
        self.assertEqual(len(Toolstream(URL).tools_for("rain", as_="langchain", k=2)), 2)

    def test_tools_of_langchain(self) -> None:
        made = langchain(DEFINITION, lambda name, arguments: f"{name} {arguments['a'] + arguments['b']}", None)
        self.assertEqual(made.invoke({"a": 1, "b": 2}), "add 3")

    def test_tools_of_llamaindex(self) -> None:
        made = llamaindex(DEFINITION, lambda name, arguments: f"{name} {arguments['a'] + arguments['b']}", None)
        self.assertEqual(made.call(a=1, b=2).content, "add 3")
        self.assertEqual(made.metadata.to_openai_tool()["function"]["parameters"], DEFINITION["inputSchema"])


if __name__ == "__main__":
    unittest.main()
