// What a change of grants means to whom, with a row for those to whom it means the same.
import type { Schemas } from "../../lib/api";
import { roles as known } from "../../lib/session.svelte";

type Effect = Schemas["GrantEffects"];

export interface Row extends Pick<Effect, "loses" | "gains"> {
  who: string;
  actions: string[];
}

const roles = known.map((r) => "role:" + r);
const shown = 5; // names in a row

/** Groups effects; named are the callers that grants name, before the change and after it. */
export function grouped(effects: Effect[], named: string[]): Row[] {
  const alike = new Map<string, Effect[]>();
  for (const e of effects) {
    if (e.loses.tools + e.gains.tools > 0) gather(alike, JSON.stringify([e.action, e.loses, e.gains]), e);
  }
  const rows = new Map<string, Row>();
  for (const [one, ...others] of alike.values()) {
    if (!one) continue;
    const who = words(new Set([one, ...others].map((e) => e.who)), named, one.action);
    const key = JSON.stringify([who, one.loses, one.gains]);
    const row = rows.get(key);
    if (row) row.actions.push(one.action);
    else rows.set(key, { who, actions: [one.action], loses: one.loses, gains: one.gains });
  }
  return [...rows.values()];
}

function gather<T>(into: Map<string, T[]>, key: string, value: T) {
  const list = into.get(key);
  if (list) list.push(value);
  else into.set(key, [value]);
}

/** Says who callers are. Only roles from caller on call tools. */
function words(who: Set<string>, named: string[], action: string): string {
  const able = action === "find" ? roles : roles.slice(1);
  if (!who.has("*")) return list(leastRole([...who], able));
  const others = new Set([...able, ...named].filter((w) => w !== "*" && !(roles.includes(w) && !able.includes(w)) && !who.has(w)));
  return others.size ? `everybody but ${list(leastRole([...others], able))}` : "everybody";
}

/** Leaves out the roles above another one, if all of them are there: role:ROLE stands for those that include it, too. */
function leastRole(who: string[], able: string[]): string[] {
  let least = able.length;
  while (least > 0 && who.includes(able[least - 1]!)) least--;
  const above = able.slice(least + 1);
  return who.filter((w) => !above.includes(w));
}

function list(names: string[]): string {
  const more = names.length - shown;
  return more > 0 ? `${names.slice(0, shown).join(", ")} and ${more} more` : names.join(", ");
}
