// Short messages about what was done, with what takes it back where that is possible.
import { Problem } from "./api";

export interface Notice {
  id: number;
  text: string;
  kind: "done" | "failed";
  details?: Detail[];
  undo?: () => Promise<unknown>;
}

const shown = 8000; // milliseconds; failures and what can be undone stay until they are closed

class Notices {
  list = $state<Notice[]>([]);
  #next = 1;

  done(text: string, undo?: () => Promise<unknown>) {
    const id = this.#add({ text, kind: "done", undo });
    if (!undo) setTimeout(() => this.close(id), shown);
  }

  failed(what: string, error: unknown) {
    this.#add({ text: `${what}: ${reason(error)}`, kind: "failed", details: details(error) });
  }

  close(id: number) {
    this.list = this.list.filter((n) => n.id !== id);
  }

  #add(n: Omit<Notice, "id">): number {
    const id = this.#next++;
    // Only the last action can be taken back: an earlier one may take along what was done since.
    const others = n.undo ? this.list.filter((o) => !o.undo) : this.list;
    this.list = [...others.slice(-4), { id, ...n }];
    return id;
  }
}

export const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** What is wrong with a place of a request. */
interface Detail {
  message?: string;
  location?: string;
}

/** What an error says beside its reason. */
export function details(error: unknown): Detail[] {
  if (!(error instanceof Problem)) return [];
  return (error.body.errors ?? []).filter((e) => !e.message || !reason(error).includes(e.message));
}

export const notices = new Notices();

/** Runs an action, and says that it was done, or that it was not and why. Returns whether it was done. */
export async function attempt(done: string, action: () => Promise<unknown>, undo?: () => Promise<unknown>, not = "Not done"): Promise<boolean> {
  try {
    await action();
    notices.done(done, undo);
    return true;
  } catch (e) {
    notices.failed(not, e);
    return false;
  }
}
