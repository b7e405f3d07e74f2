// The words of findings, which the command line shows too.
import type { Schemas } from "../../lib/api";
import { exact } from "../../lib/format";
import { href } from "../../lib/route.svelte";

type Finding = Schemas["Finding"];

/** A part of a sentence: a text, a command, or a time (RFC 3339). */
export interface Part {
  kind: "text" | "code" | "time";
  text: string;
}

// A command stands in backquotes, or ends with its clause.
const special = /`([^`]+)`|\b(toolstream [a-z][^,;`]*)|\b(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))/g;

export function parts(sentence: string): Part[] {
  const found: Part[] = [];
  let end = 0;
  for (const match of sentence.matchAll(special)) {
    found.push({ kind: "text", text: sentence.slice(end, match.index) });
    found.push(match[3] ? { kind: "time", text: exact(match[3]) } : { kind: "code", text: (match[1] ?? match[2])! });
    end = match.index + match[0].length;
  }
  found.push({ kind: "text", text: sentence.slice(end) });
  return found.filter((p) => p.text !== "");
}

/** The page of the console that shows what a finding is about. */
export function page(f: Finding): { href: string; name: string } | undefined {
  switch (f.about) {
    case "dead_letters": return { href: href(["letters"], { reason: f.name }), name: "Look at the dead letters" + (f.name ? ` for ${f.name}` : "") };
    case "source": return { href: href(["sources", f.name!]), name: `Look at ${f.name}` };
    case "quarantine": return { href: href(["tools"], { quarantined: "1" }), name: "Look at the quarantine" };
    case "weights": return { href: href(["learning"]), name: "Look at the versions of weights" };
  }
}

/** Findings without those of all dead letters, where there are some by reason. */
export function once(findings: Finding[]): Finding[] {
  const letters = (f: Finding) => !f.ok && f.about === "dead_letters";
  const byReason = findings.some((f) => letters(f) && f.name);
  return findings.filter((f) => !byReason || !letters(f) || f.name);
}
