// Who is signed in, and what the caller may do.
import { api, body, onUnauthorized, type Schemas } from "./api";

const roles = ["reader", "caller", "writer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

class SessionState {
  current = $state<Schemas["Session"]>();
  failure = $state<unknown>();

  async load() {
    try {
      this.current = await body(api.GET("/v1/session"));
      this.failure = undefined;
    } catch (e) {
      this.failure = e;
    }
  }

  async signIn(token: string) {
    this.current = await body(api.POST("/v1/session", { body: { token } }));
  }

  /** Goes to the identity provider, and comes back to this page. */
  signInByProvider() {
    location.assign("/v1/session:login?return=" + encodeURIComponent(location.pathname + location.hash));
  }

  async signOut() {
    await body(api.DELETE("/v1/session"));
    await this.load();
  }

  /** Whether the caller has a role. Roles include those before them. */
  has(role: Role): boolean {
    const own = roles.indexOf((this.current?.caller?.role ?? "") as Role);
    return own >= roles.indexOf(role);
  }
}

export const session = new SessionState();

onUnauthorized.run = () => {
  if (session.current?.authenticated && !session.current.open) session.current = { ...session.current, authenticated: false, caller: undefined };
};
