// Short messages about what was done, with what takes it back where that is possible.
export interface Notice {
  id: number;
  text: string;
  kind: "done" | "failed";
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
    this.#add({ text: `Not done (${what}): ${reason(error)}`, kind: "failed" });
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

export const notices = new Notices();

/** Runs an action, and says what was done or why not. Returns whether it was done. */
export async function attempt(what: string, action: () => Promise<unknown>, undo?: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    notices.done(what, undo);
    return true;
  } catch (e) {
    notices.failed(what, e);
    return false;
  }
}
