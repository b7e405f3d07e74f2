// Who is signed in, and what the caller may do.
import { api, body, Problem, signIn, type Schemas } from "./api";

/** From the least one on: each includes those before it. */
export const roles = ["reader", "caller", "writer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** The address, in the console, of a window that was opened to sign in. */
export const signedIn = "signed-in";

const shared = "toolstream session"; // what pages of this browser know their session by
const longest = 2 ** 31 - 1; // milliseconds of a timer
const retryAfter = 10; // seconds, where the provider is away

class SessionState {
  current = $state<Schemas["Session"]>();
  failure = $state<unknown>();
  /** The sign-in has ended: pages stay as they are until there is another one. */
  ended = $state(false);
  /** Counts the credentials: a stream ends with that which it began with. */
  credential = $state(0);
  #timer?: ReturnType<typeof setTimeout>;
  #pages = new BroadcastChannel(shared); // that share the session: told when it begins

  constructor() {
    this.#pages.onmessage = () => this.ended && void this.load();
  }

  async load() {
    try {
      this.#take(await this.#ask());
      this.failure = undefined;
    } catch (e) {
      this.failure = e;
    }
  }

  async signIn(token: string) {
    this.#take(await body(api.POST("/v1/session", { body: { token } })));
  }

  /** Goes to the identity provider, and comes back to this page. */
  signInByProvider() {
    location.assign(this.#login(location.pathname + location.hash));
  }

  /** Opens a window at the identity provider, and leaves this page as it is. */
  signInBeside() {
    open(this.#login(location.pathname + "#/" + signedIn), "_blank", "popup,width=520,height=720");
  }

  #login(to: string): string {
    return "/v1/session:login?return=" + encodeURIComponent(to);
  }

  async signOut() {
    await body(api.DELETE("/v1/session"));
    this.current = undefined; // else the end of a sign-in
    await this.load();
  }

  /** Renews a session that ends, where that can be, and reports whether there is one. */
  async renew(): Promise<boolean> {
    try {
      this.#take(await this.#ask());
    } catch {
      if (this.#renewable) this.#after(retryAfter);
    }
    return Boolean(this.current?.authenticated) && !this.ended;
  }

  get #renewable(): boolean {
    return this.current?.renew_seconds !== undefined;
  }

  /** The session, renewed where that is due: by one page at a time, since a provider may take what renews it once. */
  async #ask(): Promise<Schemas["Session"]> {
    const due = (s: Schemas["Session"]) => s.renew_seconds === 0 || (!s.authenticated && s.renew_seconds !== undefined);
    const first = await body(api.GET("/v1/session"));
    if (!due(first)) return first;
    return alone(async () => {
      const now = await body(api.GET("/v1/session"));
      if (!due(now)) return now;
      try {
        return await body(api.POST("/v1/session:renew"));
      } catch (e) {
        if (e instanceof Problem && e.status === 401) return body(api.GET("/v1/session"));
        throw e;
      }
    });
  }

  #take(next: Schemas["Session"]) {
    clearTimeout(this.#timer);
    const was = this.current;
    if (!next.authenticated && was?.authenticated && !was.open) {
      this.ended = true;
      this.current = { ...was, sign_in: next.sign_in, renew_seconds: undefined };
      return;
    }
    if (next.authenticated && (!was?.authenticated || this.ended)) this.#pages.postMessage("begun");
    const another = this.ended && JSON.stringify(next.caller) !== JSON.stringify(was?.caller);
    this.current = next;
    this.ended = false;
    this.credential++;
    if (another) location.reload(); // what is shown is not for this caller
    else if (this.#renewable) this.#after(next.renew_seconds!);
  }

  #after(seconds: number) {
    this.#timer = setTimeout(() => void this.renew(), Math.min(seconds * 1000, longest));
  }

  /** Whether the caller has a role. */
  has(role: Role): boolean {
    const own = roles.indexOf((this.current?.caller?.role ?? "") as Role);
    return own >= roles.indexOf(role);
  }
}

/** Does what pages of this browser do one at a time. Without TLS they do not know of each other. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  if (!isSecureContext) return work();
  return navigator.locks.request(shared, work);
}

export const session = new SessionState();

signIn.ended = () => (session.current?.authenticated && !session.current.open && !session.ended ? session.renew() : Promise.resolve(false));
