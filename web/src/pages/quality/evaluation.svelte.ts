// The last evaluation. It stays while its caller follows links to searches and labels: one may
// take minutes.
import type { Schemas } from "../../lib/api";
import { session } from "../../lib/session.svelte";

type Settings = Schemas["EvaluationSettings"];

class Evaluation {
  runs = $state<Settings[]>([{ weights: "live" }, { weights: "builtin" }]);
  answer = $state.raw<Schemas["EvaluationResult"]>();
  readonly caller = asJson();
}

const asJson = () => JSON.stringify(session.current?.caller ?? null);
let last: Evaluation | undefined;

/** The last evaluation of who is signed in, or a new one. */
export const evaluation = () => (last?.caller === asJson() ? last : (last = new Evaluation()));

/** Settings in words. */
export const settingsName = (s: Settings) => [s.weights ?? "live", s.rerank && `rerank ${s.rerank}`, s.rewrite && `rewrite ${s.rewrite}`, s.model && `model ${s.model}`].filter(Boolean).join(", ");
