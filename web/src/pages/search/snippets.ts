// A search as curl, command, Python, TypeScript and MCP have it.
import type { Request } from "./asked";

export interface Snippet {
  id: string;
  name: string;
  text: string;
  lacks: string[]; // parts of the request that this way has nothing for
  note?: string;
}

/** The same search in each way; asked says whether the server asks for a token. */
export function snippets(r: Request, server: string, token: boolean): Snippet[] {
  return [curl(r, server, token), command(r, server, token), python(r, server, token), typescript(r, server, token), mcp(r, server, token)];
}

function curl(r: Request, server: string, token: boolean): Snippet {
  return { id: "curl", name: "curl", text: post(`${server}/v1/search`, r, token), lacks: [], note: 'The console also sends "explain": true, which says why, and "session": "console".' };
}

function command(r: Request, server: string, token: boolean): Snippet {
  const flags: (string | undefined)[] = [
    r.k !== 10 && `-k ${r.k}`,
    r.rank && `--rank ${r.rank}`,
    ...(r.filters?.providers ?? []).map((v) => `--provider ${shell(v)}`),
    ...(r.filters?.tags ?? []).map((v) => `--tag ${shell(v)}`),
    ...(r.filters?.kinds ?? []).map((v) => `--kind ${v}`),
    ...(r.exclude_flags ?? []).map((v) => `--exclude-flag ${shell(v)}`),
    r.connected && "--connected",
    r.min_confidence && `--min-confidence ${r.min_confidence}`,
    ...Object.entries(r.arguments ?? {}).map(([name, meaning]) => `--argument ${shell(`${name}=${meaning}`)}`),
    ...(r.needs ?? []).map((n) => `--need ${shell(JSON.stringify(n))}`),
    r.rerank && `--rerank ${r.rerank}`,
    r.rewrite && `--rewrite ${r.rewrite}`,
    r.weights && `--weights ${shell(r.weights)}`,
  ].map((f) => f || undefined);
  const text = ["toolstream search", `--server ${shell(server)}`, ...flags.filter(Boolean), "--explain", ...(r.query ? ["--", shell(r.query)] : [])].join(" ");
  return { id: "command", name: "Command line", text, lacks: [], note: token ? "The token is read from TOOLSTREAM_TOKEN, or from `toolstream login`." : undefined };
}

function python(r: Request, server: string, token: boolean): Snippet {
  const { query, ...more } = r;
  const given = [JSON.stringify(query), ...Object.entries(more).map(([name, value]) => `${name}=${literal(value)}`)].join(", ");
  const text = `${token ? "import os\n" : ""}from toolstream import Toolstream

ts = Toolstream(${JSON.stringify(server)}${token ? ', token=os.environ["TOOLSTREAM_TOKEN"]' : ""})
for hit in ts.search(${given}):
    print(hit.confidence, hit.id)
`;
  return { id: "python", name: "Python", text, lacks: [] };
}

function typescript(r: Request, server: string, token: boolean): Snippet {
  const { query, ...more } = r;
  const text = `import { Toolstream } from "toolstream";

const ts = new Toolstream(${JSON.stringify(server)}${token ? ", { token: process.env.TOOLSTREAM_TOKEN }" : ""});
const found = await ts.search(${JSON.stringify(query)}, ${JSON.stringify(more, null, 2)});
for (const hit of found.results) console.log(hit.confidence, hit.id);
`;
  return { id: "typescript", name: "TypeScript", text, lacks: [] };
}

function mcp(r: Request, server: string, token: boolean): Snippet {
  const args = {
    query: r.query,
    limit: Math.min(r.k ?? 10, 50),
    ...(r.filters?.providers && { providers: r.filters.providers }),
    ...(r.filters?.tags && { tags: r.filters.tags }),
    ...(r.arguments && { arguments: r.arguments }),
    ...(r.connected && { connected: true }),
  };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search_tools", arguments: args } };
  const lacks = (["rank", "exclude_flags", "min_confidence", "needs", "weights", "rerank", "rewrite"] as const).filter((m) => r[m] !== undefined) as string[];
  if (r.filters?.kinds) lacks.push("kinds");
  return {
    id: "mcp", name: "MCP", text: post(`${server}/mcp`, call, token, ["Accept: application/json, text/event-stream"]), lacks,
    note: r.k && r.k > 50 ? "search_tools gives at most 50 tools." : undefined,
  };
}

function post(url: string, json: unknown, token: boolean, headers: string[] = []): string {
  const lines = [
    `curl ${shell(url)}`,
    ...(token ? ['-H "Authorization: Bearer $TOOLSTREAM_TOKEN"'] : []),
    ...["Content-Type: application/json", ...headers].map((h) => `-H ${shell(h)}`),
    `-d ${shell(JSON.stringify(json, null, 2))}`,
  ];
  return lines.join(" \\\n  ");
}

/** A word of a POSIX shell. */
function shell(text: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A value as Python writes it. */
function literal(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value as object).map(([k, v]) => `${JSON.stringify(k)}: ${literal(v)}`).join(", ")}}`;
  return JSON.stringify(value);
}
