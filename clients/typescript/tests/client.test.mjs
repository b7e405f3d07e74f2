// Against a server at TOOLSTREAM_URL, on the sample registry and the tools of server-everything.
import assert from "node:assert/strict";
import test from "node:test";
import { Problem, Toolstream } from "../dist/index.js";
import { toolsOf } from "../dist/ai.js";

const server = new Toolstream(process.env.TOOLSTREAM_URL);
const query = "will it rain in Lisbon tomorrow?";
const add = { filters: { providers: ["everything"] } };
const sum = "The sum of 2 and 3 is 5.";

test("a search and its feedback", async () => {
  const found = await server.search(query, { k: 3 });
  assert.equal(found.results.length, 3);
  await server.feedback(found, found.results[0], "selected");
});

test("problems point into the request", async () => {
  await assert.rejects(server.search(query, { rank: "all" }), (err) => {
    assert.ok(err instanceof Problem);
    assert.equal(err.status, 422);
    assert.equal(err.errors[0].location, "/body/rank");
    return true;
  });
});

test("what is no tool cannot be called", async () => {
  await assert.rejects(server.call("no/such tool"), { status: 404 });
});

test("tools for a model", async () => {
  for (const [form, member] of [["openai", "parameters"], ["anthropic", "input_schema"], ["mcp", "inputSchema"]]) {
    const tools = await server.toolsFor(query, form, { k: 2 });
    assert.equal(tools.length, 2, form);
    assert.ok(member in tools[0], `${form}: ${JSON.stringify(tools[0])}`);
  }
});

test("a tool search that OpenAI leaves to the client", async () => {
  const output = await server.toolSearch({ call_id: "call_1", arguments: { goal: query } });
  assert.equal(output.type, "tool_search_output");
  assert.equal(output.call_id, "call_1");
});

test("a search in the address", async () => {
  const params = { query: { q: "add two numbers", provider: ["everything", "nobody"], include: ["schema", "signature"], k: 2 } };
  const { data } = await server.api.GET("/v1/search", { params });
  assert.deepEqual(new Set(data.results.map((hit) => hit.provider)), new Set(["everything"]));
  assert.ok(data.results[0].signature && data.results[0].schema);
});

test("a tool is called", async () => {
  const found = await server.search("add two numbers", { k: 1, ...add });
  const result = await server.call(found.results[0].id, { a: 2, b: 3 }, { search_id: found.search_id });
  assert.deepEqual([result.outcome, result.content[0].text, result.search_id], ["ok", sum, found.search_id]);
});

test("wrong arguments are named by their places", async () => {
  await assert.rejects(server.call("everything/get-sum", { a: "two", b: 3 }), (err) => {
    assert.ok(err instanceof Problem);
    assert.deepEqual([err.status, err.outcome, err.errors.map((e) => e.location)], [422, "invalid_arguments", ["/body/arguments/a"]]);
    assert.match(err.message, /\/body\/arguments\/a: /);
    return true;
  });
});

test("tools of the AI SDK", async () => {
  const tools = await toolsOf(server, "add two numbers", { k: 1, ...add });
  const [tool] = Object.values(tools);
  const result = await tool.execute({ a: 2, b: 3 }, { toolCallId: "1", messages: [] });
  assert.equal(result.content[0].text, sum);
});
