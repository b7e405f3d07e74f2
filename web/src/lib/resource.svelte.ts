// What a page loads: a value, or why there is none.

export class Resource<T> {
  value = $state.raw<T>();
  error = $state.raw<unknown>();
  loading = $state(false);
  #load: (signal: AbortSignal) => Promise<T>;
  #running?: AbortController;

  /** Loads nothing yet: call reload, in an $effect where what is loaded depends on state. */
  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  /** Loads (again). The value stays until the next one is there. An older load is given up. */
  async reload() {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.loading = true;
    try {
      const value = await this.#load(running.signal);
      if (this.#running !== running) return;
      this.value = value;
      this.error = undefined;
    } catch (e) {
      if (this.#running !== running) return;
      this.error = e;
    }
    this.loading = false;
  }

  /** Forgets the value, for another subject. */
  clear() {
    this.value = undefined;
    this.error = undefined;
  }
}
