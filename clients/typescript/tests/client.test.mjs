// Against a server on the sample registry, at TOOLSTREAM_URL.
import assert from "node:assert/strict";
import test from "node:test";
import { Problem, Toolstream } from "../dist/index.js";
import { toolsOf } from "../dist/ai.js";

const server = new Toolstream(process.env.TOOLSTREAM_URL);
const query = "will it rain in Lisbon tomorrow?";

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

test("tools of the AI SDK", async () => {
  const tools = await toolsOf(server, query, { k: 2 });
  assert.equal(Object.keys(tools).length, 2);
});
