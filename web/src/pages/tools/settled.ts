// Waits until an accepted change has gone through the stages.
import { api, body, type Schemas } from "../../lib/api";

const tries = 40;
const between = 250; // milliseconds

/** Returns what became of a change. "pending" where that takes longer than one waits for. */
export async function settled(kind: Schemas["Kind"], change: Schemas["ChangeResult"]): Promise<string> {
  if (!change.revision) return change.state;
  for (let i = 0; i < tries; i++) {
    const { states } = await body(api.POST("/v1/tools:states", { body: { changes: [{ kind, id: change.id, revision: change.revision }] } }));
    if (states[0] && states[0].state !== "pending") return states[0].state;
    await new Promise((done) => setTimeout(done, between));
  }
  return "pending";
}
