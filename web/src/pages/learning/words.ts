// Versions of weights, in words.
import type { Schemas } from "../../lib/api";
import { plural, signed } from "../../lib/format";

/** "+0.028 ± 0.024 over 33 searches". */
export const gained = (f: Schemas["TrialFigures"], of: string, many?: string) => `${signed(f.gain)}${f.margin ? ` ± ${f.margin.toFixed(3)}` : ""} over ${plural(f.searches, of, many)}`;

export const states: Record<string, { name: string; kind: "good" | "warn" | "bad" | "plain" | "accent"; about: string }> = {
  live: { name: "live", kind: "good", about: "Searches rank by it." },
  shadow: { name: "on trial", kind: "accent", about: "It ranks new searches beside the live version; nobody sees its ranking." },
  refused: { name: "refused", kind: "warn", about: "It was not better than the live version." },
  replaced: { name: "replaced", kind: "plain", about: "A later version took its place." },
  rolled_back: { name: "rolled back", kind: "warn", about: "It was live, and was taken back." },
  kept: { name: "kept", kind: "plain", about: "Nothing more is known of it." },
};
