// What the server tells by its event stream: one connection for all pages.
import type { Schemas } from "./api";
import { session } from "./session.svelte";

type Kinds = {
  status: Schemas["Status"];
  sample: Schemas["Sample"];
  tools: Schemas["ToolsEvent"];
  dead_letters: Schemas["DeadLettersEvent"];
  sources: Schemas["SourcesEvent"];
  weights: Schemas["WeightsEvent"];
};
const kinds: (keyof Kinds)[] = ["status", "sample", "tools", "dead_letters", "sources", "weights"];

const retryAfter = 2000; // milliseconds, where the server refuses the stream

class Live {
  state = $state<"connecting" | "live" | "disconnected">("connecting");
  since = $state(new Date()); // when the state began
  status = $state.raw<Schemas["Status"]>();
  #source?: EventSource;
  #former: EventSource[] = []; // that run until it has begun
  #retry?: ReturnType<typeof setTimeout>;
  #listeners = new Map<keyof Kinds | "reconnected", Set<(data: never) => void>>();

  /** Begins the stream. One that runs ends when the other one has begun: nothing is missed between them. */
  start() {
    clearTimeout(this.#retry);
    if (this.#source) this.#former.push(this.#source);
    const source = new EventSource("/v1/stream");
    this.#source = source;
    source.onopen = () => {
      if (this.#source === source) this.#endFormer();
      const again = this.state === "disconnected";
      this.#enter("live");
      if (again) this.#tell("reconnected", undefined);
    };
    source.onerror = () => {
      if (this.#source !== source) return;
      this.#endFormer();
      this.#enter("disconnected");
      // A refused stream is given up by the browser: the sign-in may have ended.
      if (source.readyState === EventSource.CLOSED) {
        this.#retry = setTimeout(async () => {
          if (await session.renew() && this.#source === source) this.start();
        }, retryAfter);
      }
    };
    for (const kind of kinds) {
      source.addEventListener(kind, (e) => {
        const data = JSON.parse((e as MessageEvent<string>).data);
        if (kind === "status") this.status = data;
        this.#tell(kind, data);
      });
    }
  }

  stop() {
    clearTimeout(this.#retry);
    this.#endFormer();
    this.#source?.close();
    this.#source = undefined;
  }

  #endFormer() {
    this.#former.forEach((source) => source.close());
    this.#former = [];
  }

  /** Calls back at each event of a kind; returns what ends that, for $effect. "reconnected" comes when the server is there again. */
  on<K extends keyof Kinds>(kind: K, listener: (data: Kinds[K]) => void): () => void;
  on(kind: "reconnected", listener: () => void): () => void;
  on(kind: keyof Kinds | "reconnected", listener: (data: never) => void): () => void {
    const all = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, all.add(listener));
    return () => all.delete(listener);
  }

  #tell(kind: keyof Kinds | "reconnected", data: unknown) {
    for (const listener of this.#listeners.get(kind) ?? []) listener(data as never);
  }

  #enter(state: Live["state"]) {
    if (this.state === state) return;
    this.state = state;
    this.since = new Date();
  }
}

export const live = new Live();
