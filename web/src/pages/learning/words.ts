// Versions of weights, in words.
import type { Schemas } from "../../lib/api";
import { plural, signed } from "../../lib/format";

/** "+0.028 over 33 queries". */
export const gained = (f: Schemas["WeightsGain"], of: string, many?: string) => `${signed(f.gain)} over ${plural(f.searches, of, many)}`;

export const states: Record<string, { name: string; kind: "good" | "warn" | "bad" | "plain" | "accent"; about: string }> = {
  live: { name: "live", kind: "good", about: "Searches rank by it." },
  replaced: { name: "replaced", kind: "plain", about: "A later version took its place." },
  rolled_back: { name: "rolled back", kind: "warn", about: "It was live, and was taken back." },
  kept: { name: "kept", kind: "plain", about: "Nothing more is known of it." },
};
