// The page in the address: #/tools/some%2Fid?provider=x has the path ["tools", "some/id"].

class Route {
  path = $state.raw<string[]>([]);
  query = $state.raw(new URLSearchParams());

  constructor() {
    this.#read();
    addEventListener("hashchange", () => this.#read());
  }

  #read() {
    const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    this.path = path.split("/").filter(Boolean).map(decode);
    this.query = new URLSearchParams(query);
  }

  /** Changes the address without a new entry in the history. */
  replace(path: string[], query: Query = {}) {
    history.replaceState(history.state, "", href(path, query));
    this.#read();
  }

  /** Goes to an address, with an entry in the history. Returns whether it is another one than the present. */
  go(path: string[], query: Query = {}): boolean {
    const to = href(path, query);
    if (to === location.hash) return false;
    location.hash = to;
    return true;
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

/** What stands behind the path. A name with a list stands once for each value; empty values are left out. */
export type Query = Record<string, string | string[] | undefined>;

/** The address of a page. */
export function href(path: string[], query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const v of Array.isArray(value) ? value : [value]) if (v) given.append(name, v);
  }
  const tail = given.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (tail && "?" + tail);
}

export const route = new Route();
