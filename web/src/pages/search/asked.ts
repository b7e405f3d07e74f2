// What is searched, as the form has it, as the address has it, and as the API takes it.
import type { Schemas } from "../../lib/api";
import { href, type Query } from "../../lib/route.svelte";

export interface Setting {
  weights: string; // version, "" for the live one
  rerank: string; // "" as the server is set
  rewrite: string; // "" as the server is set
}

export interface Asked {
  query: string;
  rank: string; // "" for tools
  providers: string[];
  tags: string[];
  kinds: string[];
  excluded: string[];
  connected: boolean;
  confidence: number; // the least, 0 to 1
  k: number;
  needs: { user_intent: string; tool_description: string; expected_response: string }[];
  arguments: { name: string; meaning: string }[];
  settings: Setting[]; // two are shown side by side
}

export type Request = Schemas["SearchRequest"] & { weights?: string };

export const plainSetting = (): Setting => ({ weights: "", rerank: "", rewrite: "" });
export const noNeed = () => ({ user_intent: "", tool_description: "", expected_response: "" });

/** Reads an address. What it does not say is as in an empty form. */
export function read(query: URLSearchParams): Asked {
  const setting = (of: string): Setting => ({ weights: query.get("weights" + of) ?? "", rerank: query.get("rerank" + of) ?? "", rewrite: query.get("rewrite" + of) ?? "" });
  return {
    query: query.get("q") ?? "",
    rank: query.get("rank") ?? "",
    providers: query.getAll("provider"),
    tags: query.getAll("tag"),
    kinds: query.getAll("kind"),
    excluded: query.getAll("exclude"),
    connected: query.has("connected"),
    confidence: within(query.get("confidence"), 0, 1, 0),
    k: Math.round(within(query.get("k"), 1, 1000, 10)),
    needs: query.getAll("need").map(need),
    arguments: query.getAll("argument").map((text) => {
      const at = text.indexOf("=");
      return at < 0 ? { name: text, meaning: "" } : { name: text.slice(0, at), meaning: text.slice(at + 1) };
    }),
    settings: query.has("compare") ? [setting(""), setting("2")] : [setting("")],
  };
}

/** The address of a search; read gives the same search back. */
export function address(a: Asked): Query {
  const [one, two] = a.settings;
  return {
    q: a.query.trim(),
    rank: a.rank,
    provider: a.providers,
    tag: a.tags,
    kind: a.kinds,
    exclude: a.excluded,
    connected: a.connected ? "1" : "",
    confidence: a.confidence ? String(a.confidence) : "",
    k: a.k === 10 ? "" : String(a.k),
    need: a.needs.filter(says).map((n) => JSON.stringify([n.user_intent, n.tool_description, n.expected_response])),
    argument: a.arguments.filter((x) => x.name.trim()).map((x) => `${x.name.trim()}=${x.meaning}`),
    weights: one?.weights,
    rerank: one?.rerank,
    rewrite: one?.rewrite,
    compare: two ? "1" : "",
    weights2: two?.weights,
    rerank2: two?.rerank,
    rewrite2: two?.rewrite,
  };
}

/** Whether two forms search for the same. */
export const same = (a: Asked, b: Asked) => href([], address(a)) === href([], address(b));

/** The body of POST /v1/search, with what is said alone. */
export function request(a: Asked, setting: Setting): Request {
  const filters = pruned({ providers: a.providers, tags: a.tags, kinds: a.kinds as Schemas["Kind"][] });
  return {
    query: a.query.trim(),
    ...pruned({
      k: a.k,
      rank: a.rank as Request["rank"],
      filters: Object.keys(filters).length ? filters : undefined,
      exclude_flags: a.excluded,
      connected: a.connected,
      min_confidence: a.confidence,
      needs: a.needs.filter(says).map((n) => pruned({ ...n })),
      arguments: a.arguments.some((x) => x.name.trim()) ? Object.fromEntries(a.arguments.filter((x) => x.name.trim()).map((x) => [x.name.trim(), x.meaning])) : undefined,
      weights: setting.weights,
      rerank: setting.rerank as Request["rerank"],
      rewrite: setting.rewrite as Request["rewrite"],
    }),
  };
}

/** Whether there is something to search for. */
export const asks = (a: Asked) => Boolean(a.query.trim()) || a.needs.some(says);

export const filterCount = (a: Asked) =>
  a.providers.length + a.tags.length + a.kinds.length + a.excluded.length + Number(a.connected) + Number(a.confidence > 0) + Number(Boolean(a.rank));

/** A setting in words. */
export const settingName = (s: Setting) =>
  `${s.weights ? `weights ${s.weights}` : "live weights"}${s.rerank ? `, rerank ${s.rerank}` : ""}${s.rewrite ? `, rewrite ${s.rewrite}` : ""}`;

const says = (n: object) => Object.values(n).some((text) => String(text).trim());

function pruned<T extends object>(o: T): Partial<T> {
  return Object.fromEntries(Object.entries(o).filter(([, v]) => v && !(Array.isArray(v) && v.length === 0))) as Partial<T>;
}

function need(text: string) {
  try {
    const [user_intent = "", tool_description = "", expected_response = ""] = JSON.parse(text) as string[];
    return { user_intent, tool_description, expected_response };
  } catch {
    return { ...noNeed(), user_intent: text }; // typed by hand
  }
}

function within(text: string | null, low: number, high: number, otherwise: number): number {
  const n = Number(text);
  return text && n >= low && n <= high ? n : otherwise;
}
