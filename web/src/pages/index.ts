// The pages: their names, what they need, and where they are loaded from.
import type { Component } from "svelte";
import type { Role } from "../lib/session.svelte";

export interface Page {
  path: string; // the first part of the address
  name: string;
  role: Role; // the least that sees anything here
  load: () => Promise<{ default: Component }>;
}

export const pages: Page[] = [
  { path: "", name: "Overview", role: "operator", load: () => import("./overview/Overview.svelte") },
  { path: "search", name: "Search", role: "reader", load: () => import("./search/Search.svelte") },
  { path: "tools", name: "Tools", role: "reader", load: () => import("./tools/Tools.svelte") },
  { path: "sources", name: "Sources", role: "writer", load: () => import("./sources/Sources.svelte") },
  { path: "letters", name: "Dead letters", role: "operator", load: () => import("./letters/Letters.svelte") },
  { path: "learning", name: "Learning", role: "operator", load: () => import("./learning/Learning.svelte") },
  { path: "access", name: "Access", role: "operator", load: () => import("./access/Access.svelte") },
  { path: "quality", name: "Quality", role: "operator", load: () => import("./quality/Quality.svelte") },
];
