/** The part of the client that is written by hand: searches, tools for a model, calls and feedback. */
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
export type SearchRequest = Schemas["SearchRequest"];
export type SearchResponse = Schemas["SearchResponse"];
export type Hit = Schemas["Hit"];
export type CallResult = Schemas["CallResult"];
export type CallRequest = Schemas["CallRequest"];
export type FeedbackEvent = Schemas["FeedbackEvent"];
export type Form = NonNullable<SearchRequest["as"]>;
export type { components, paths };

/** An error answer (RFC 9457). The message says what is wrong, and where in the request. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly body: Partial<Schemas["Problem"]>,
  ) {
    super(`${places(body.detail ?? body.title ?? "no answer", body.errors ?? [])} (HTTP ${status})`);
    this.name = "Problem";
  }

  /** What is wrong, each with a JSON pointer into the request. */
  get errors(): Schemas["ProblemError"][] {
    return this.body.errors ?? [];
  }

  /** Of a call: why the tool has not answered. */
  get outcome(): Schemas["Problem"]["outcome"] {
    return this.body.outcome;
  }
}

function places(detail: string, errors: Schemas["ProblemError"][]): string {
  let text = detail;
  for (const { message = "", location = "" } of errors) {
    const place = location && `${location}: `;
    if (message === detail) text = place + text;
    else if (!detail.includes(message)) text += `; ${place}${message}`;
  }
  return text;
}

export interface Options {
  token?: string;
  fetch?: (request: Request) => Promise<Response>;
}

/** A tool_search_call of OpenAI whose execution is left to the client. */
export interface ToolSearchCall {
  call_id?: string | null;
  arguments: unknown;
}

/** A server. */
export class Toolstream {
  /** Every operation of the API. */
  readonly api: Client<paths>;

  constructor(url = "http://127.0.0.1:8665", options: Options = {}) {
    this.api = createClient<paths>({
      baseUrl: url.replace(/\/$/, ""),
      headers: options.token ? { Authorization: `Bearer ${options.token}` } : {},
      ...(options.fetch ? { fetch: options.fetch } : {}),
    });
  }

  /** The tools for a query, best first. */
  async search(query: string, more: Omit<SearchRequest, "query"> = {}): Promise<SearchResponse> {
    return read(await this.api.POST("/v1/search", { body: { ...more, query } }));
  }

  /** The tools for a query as definitions for a model. */
  async toolsFor(query: string, as: Form = "openai", more: Omit<SearchRequest, "query" | "as"> = {}): Promise<unknown[]> {
    const { tools } = await this.search(query, { k: 5, ...more, as });
    return Array.isArray(tools) ? tools : tools ? [tools] : [];
  }

  /** Calls a tool by its id or callable name. */
  async call(tool: string, args: Record<string, unknown> = {}, more: Omit<CallRequest, "arguments"> = {}): Promise<CallResult> {
    return read(await this.api.POST("/v1/tools/{id}:call", { params: { path: { id: tool } }, body: { ...more, arguments: args } }));
  }

  /** Reports what was done with a hit of a search. */
  async feedback(search: SearchResponse | string, tool: Hit | string, event: FeedbackEvent): Promise<void> {
    const search_id = typeof search === "string" ? search : search.search_id;
    const tool_id = typeof tool === "string" ? tool : tool.id;
    read(await this.api.POST("/v1/feedback", { body: { search_id, tool_id, event } }));
  }

  /** Answers a tool_search_call of OpenAI with the tool_search_output that goes into the next input. */
  async toolSearch(item: ToolSearchCall, more: Omit<SearchRequest, "query" | "as" | "call_id"> = {}): Promise<unknown> {
    const args: unknown = typeof item.arguments === "string" ? JSON.parse(item.arguments) : item.arguments;
    const words = args !== null && typeof args === "object" ? Object.values(args).filter((v) => typeof v === "string") : [String(args)];
    const found = await this.search(words.join(" "), {
      k: 5, ...more, as: "tool_search_output", ...(item.call_id ? { call_id: item.call_id } : {}),
    });
    return found.tools;
  }
}

function read<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok) {
    const body = answer.error;
    throw new Problem(answer.response.status, body !== null && typeof body === "object" ? body : { detail: String(body ?? "") });
  }
  return answer.data as T;
}
