// A list that the API gives in pages, which are loaded as the end comes near.
import type { Schemas } from "../../lib/api";
import { Resource } from "../../lib/resource.svelte";

type Page = Schemas["ToolPage"];

export class Pages {
  items = $state.raw<Schemas["ToolSummary"][]>([]);
  first: Resource<Page>;
  more = $state(false); // another page follows
  loading = false;
  failure = $state.raw<unknown>();
  #cursor?: string;
  #load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page>;

  constructor(load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page>) {
    this.#load = load;
    this.first = new Resource(async (signal) => {
      const page = await load(undefined, signal);
      this.items = [];
      this.#add(page);
      return page;
    });
  }

  async next() {
    if (this.loading || !this.#cursor) return;
    this.loading = true;
    const cursor = this.#cursor;
    try {
      const page = await this.#load(cursor);
      if (this.#cursor === cursor) this.#add(page);
      this.failure = undefined;
    } catch (e) {
      this.failure = e;
    }
    this.loading = false;
  }

  #add(page: Page) {
    this.items = [...this.items, ...(page.tools ?? [])];
    this.#cursor = page.cursor || undefined;
    this.more = Boolean(this.#cursor);
  }
}
