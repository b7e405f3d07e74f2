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

  /** Changes the address without a new entry in the history. Empty values are left out. */
  replace(path: string[], query: Record<string, string | undefined> = {}) {
    history.replaceState(null, "", href(path, query));
    this.#read();
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

/** The address of a page. */
export function href(path: string[], query: Record<string, string | undefined> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value);
  const tail = given.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (tail && "?" + tail);
}

export const route = new Route();
