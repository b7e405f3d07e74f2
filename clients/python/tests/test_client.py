"""Against a server at TOOLSTREAM_URL, on the sample registry and the tools of server-everything."""

from __future__ import annotations

import asyncio
import os
import unittest

from toolstream import AsyncToolstream, Problem, SearchResponse, Toolstream
from toolstream._core.api.calls import call_tool
from toolstream._core.api.search import search_plainly
from toolstream._core.models.call_request import CallRequest
from toolstream._core.models.call_result import CallResult

URL = os.environ["TOOLSTREAM_URL"]
ADD = {"filters": {"providers": ["everything"]}}
SUM = "The sum of 2 and 3 is 5."


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

    def test_a_search_in_the_address(self) -> None:
        found = search_plainly.sync(client=Toolstream(URL).core, q="add two numbers", provider=["everything", "nobody"], include=["schema", "signature"], k=2)
        assert isinstance(found, SearchResponse)
        self.assertEqual({hit.provider for hit in found.results}, {"everything"})
        self.assertIn("get-sum", str(found.results[0].signature) + found.results[0].id)
        schema = found.results[0].schema
        assert isinstance(schema, dict)
        self.assertEqual(schema["type"], "object")

    def test_a_newer_server_may_say_more(self) -> None:
        found = Toolstream(URL).search("rain", k=1).answer.to_dict()
        found["results"][0]["kind"] = found["results"][0]["new"] = found["rewrite"] = found["new"] = "of a later version"
        read = SearchResponse.from_dict(found)
        self.assertEqual((read.rewrite, read.results[0].kind, read["new"]), ("of a later version",) * 3)
        self.assertEqual(read.to_dict(), found)


class Calls(unittest.TestCase):
    def test_a_tool_is_called(self) -> None:
        server = Toolstream(URL)
        found = server.search("add two numbers", k=1, **ADD)
        result = server.call(found[0].id, {"a": 2, "b": 3}, search_id=found.search_id)
        self.assertEqual((result["outcome"], result["content"][0]["text"], result["search_id"]), ("ok", SUM, found.search_id))

    def test_a_tool_is_called_by_coroutine(self) -> None:
        self.assertEqual(asyncio.run(AsyncToolstream(URL).call("everything/get-sum", {"a": 2, "b": 3}))["content"][0]["text"], SUM)

    def test_a_tool_is_called_by_the_generated_part(self) -> None:
        result = call_tool.sync("everything/get-sum", client=Toolstream(URL).core, body=CallRequest(arguments={"a": 2, "b": 3}))
        assert isinstance(result, CallResult)
        self.assertEqual(result.content[0]["text"], SUM)

    def test_wrong_arguments_are_named_by_their_places(self) -> None:
        with self.assertRaises(Problem) as raised:
            Toolstream(URL).call("everything/get-sum", {"a": "two", "b": 3})
        self.assertEqual((raised.exception.status, raised.exception.outcome), (422, "invalid_arguments"))
        self.assertEqual([error["location"] for error in raised.exception.errors], ["/body/arguments/a"])
        self.assertIn("/body/arguments/a: ", str(raised.exception))


class Frameworks(unittest.TestCase):
    def test_tools_of_langchain(self) -> None:
        tool = Toolstream(URL).tools_for("add two numbers", as_="langchain", k=1, **ADD)[0]
        self.assertEqual(tool.invoke({"a": 2, "b": 3}), SUM)
        self.assertEqual(asyncio.run(tool.ainvoke({"a": 2, "b": 3})), SUM)
        said = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {"a": "two", "b": 3}})
        self.assertEqual(said.status, "error")
        self.assertIn("/body/arguments/a: ", said.content)

    def test_tools_of_langchain_by_coroutine(self) -> None:
        async def run() -> None:
            tool = (await AsyncToolstream(URL).tools_for("add two numbers", as_="langchain", k=1, **ADD))[0]
            self.assertEqual(await tool.ainvoke({"a": 2, "b": 3}), SUM)
            self.assertIn("/body/arguments/a: ", await tool.ainvoke({"a": "two", "b": 3}))

        asyncio.run(run())

    def test_tools_of_llamaindex(self) -> None:
        tool = Toolstream(URL).tools_for("add two numbers", as_="llamaindex", k=1, **ADD)[0]
        self.assertEqual(tool.call(a=2, b=3).content, SUM)
        self.assertEqual(set(tool.metadata.to_openai_tool()["function"]["parameters"]["properties"]), {"a", "b"})
        with self.assertRaises(Problem):
            tool.call(a="two", b=3)

    def test_tools_of_llamaindex_by_coroutine(self) -> None:
        async def run() -> None:
            tool = (await AsyncToolstream(URL).tools_for("add two numbers", as_="llamaindex", k=1, **ADD))[0]
            self.assertEqual((await tool.acall(a=2, b=3)).content, SUM)

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
