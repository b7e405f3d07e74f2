/** Tools of the AI SDK. */
import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import type { SearchRequest, Toolstream } from "./index.js";

interface Definition {
  name: string;
  description?: string;
  inputSchema: Record<string, unknown>;
}

/** The tools for a query by their callable names, for `tools` of generateText and streamText. */
export async function toolsOf(server: Toolstream, query: string, more: Omit<SearchRequest, "query" | "as"> = {}): Promise<ToolSet> {
  const found = await server.search(query, { k: 5, ...more, as: "mcp" });
  const out: ToolSet = {};
  for (const tool of (found.tools ?? []) as Definition[]) {
    out[tool.name] = dynamicTool({
      description: tool.description ?? tool.name,
      inputSchema: jsonSchema(tool.inputSchema),
      execute: (input) => server.call(tool.name, input as Record<string, unknown>, { search_id: found.search_id }),
    });
  }
  return out;
}
