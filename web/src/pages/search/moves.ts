// What differs between two answers to the same query.
import type { Schemas } from "../../lib/api";
import { plural } from "../../lib/format";

type Hit = Schemas["Hit"];

export interface Moves {
  places: [Map<string, number>, Map<string, number>]; // by id, from 1, on each side
  words: string;
}

/** Compares the places of two answers. */
export function moves(left: Hit[], right: Hit[]): Moves {
  const places = [left, right].map((hits) => new Map(hits.map((h, i) => [key(h), i + 1]))) as Moves["places"];
  let same = 0;
  let moved = 0;
  for (const [id, place] of places[0]) {
    const other = places[1].get(id);
    if (other === place) same++;
    else if (other) moved++;
  }
  const fresh = right.length - same - moved;
  const gone = left.length - same - moved;
  return { places, words: `${plural(same, "result")} at the same place, ${moved} moved, ${gone} only in A, ${fresh} only in B.` };
}

/** Tools and providers may have the same id. */
export const key = (h: Hit) => `${h.kind} ${h.id}`;
