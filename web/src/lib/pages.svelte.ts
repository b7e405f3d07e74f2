// A list that the API gives in pages, of which the next one is loaded when it is wanted.
import { untrack } from "svelte";
import { Resource } from "./resource.svelte";

export class Pages<Page extends { cursor?: string }, Item> {
  first: Resource<Page>; // the first page, with what it says of the whole list
  items = $state.raw<Item[]>([]); // of all pages that are loaded
  more = $state(false); // another page follows
  loading = $state(false); // the next page
  failure = $state.raw<unknown>(); // why that one did not come
  #cursor?: string;
  #subject = {}; // what the list is of; another one after another filter
  #shown?: object; // the subject of the items
  #changed = false; // since the load began
  #refreshing = false;
  #load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page>;
  #itemsOf: (page: Page) => Item[] | undefined;

  /** Loads nothing yet, as a Resource. */
  constructor(load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page>, itemsOf: (page: Page) => Item[] | undefined) {
    this.#load = load;
    this.#itemsOf = itemsOf;
    // As far as it was loaded before: who has scrolled down keeps the place.
    this.first = new Resource(async (signal) => {
      const subject = this.#subject;
      const first = await load(undefined, signal);
      let last = first;
      let items = itemsOf(first) ?? [];
      while (last.cursor && this.#shown === subject && items.length < this.items.length) {
        last = await load(last.cursor, signal);
        items = [...items, ...(itemsOf(last) ?? [])];
      }
      signal.throwIfAborted();
      this.#shown = subject;
      this.#show(items, last);
      return first;
    });
  }

  /** Loads the first page of another list, such as that of another filter. */
  restart() {
    this.#subject = {};
    void this.first.reload();
  }

  /** Loads what is loaded anew, because it has changed. Changes meanwhile bring one more load, however many they are. */
  async refresh() {
    this.#changed = true;
    if (this.#refreshing) return;
    this.#refreshing = true;
    while (this.#changed) {
      this.#changed = false;
      await this.first.reload();
    }
    this.#refreshing = false;
  }

  /** Loads the next page, unless there is none or it is being loaded. */
  async next(): Promise<void> {
    if (untrack(() => this.loading) || !this.#cursor || this.#shown !== this.#subject) return;
    this.loading = true;
    const [cursor, subject] = [this.#cursor, this.#subject];
    let page: Page | undefined;
    let failure: unknown;
    try {
      page = await this.#load(cursor);
    } catch (e) {
      failure = e;
    }
    this.loading = false;
    if (this.#subject !== subject) return;
    if (this.#cursor !== cursor) return this.next(); // the list was loaded anew meanwhile, and ends elsewhere
    if (page) this.#show([...this.items, ...(this.#itemsOf(page) ?? [])], page);
    else this.failure = failure;
  }

  #show(items: Item[], last: Page) {
    this.items = items;
    this.#cursor = last.cursor || undefined;
    this.more = Boolean(this.#cursor);
    this.failure = undefined;
  }
}
