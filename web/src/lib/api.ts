// The HTTP API, with the types of its OpenAPI document: those of the TypeScript client.
import createClient from "openapi-fetch";
import { clock } from "./clock.svelte";
import type { components, paths } from "../../../clients/typescript/src/schema";

export type Schemas = components["schemas"];

/** An error answer (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly body: Partial<Schemas["Problem"]>,
  ) {
    super(body.detail ?? body.title ?? `the server answered ${status} without a reason`);
  }

  /** What is wrong with a place of the request body, "" where nothing is. */
  at(pointer: string): string {
    return this.body.errors?.find((e) => e.location === pointer)?.message ?? "";
  }
}

/** The server could not be reached. */
export class Unreachable extends Error {
  constructor() {
    super("the server cannot be reached");
  }
}

/** Set by the session: told of answers that say the sign-in has ended, and whether there is another one then. */
export const signIn: { ended: () => Promise<boolean> } = { ended: () => Promise.resolve(false) };

export const api = createClient<paths>({
  baseUrl: location.origin,
  fetch: async (request) => {
    if (new URL(request.url).pathname.startsWith("/v1/session")) return send(request);
    const again = request.clone();
    const answer = await send(request);
    return answer.status === 401 && (await signIn.ended()) ? send(again) : answer;
  },
});

async function send(request: Request): Promise<Response> {
  try {
    const answer = await fetch(request);
    clock.hear(answer.headers.get("Date"));
    return answer;
  } catch (e) {
    if (request.signal.aborted) throw e;
    throw new Unreachable();
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of an answer. Throws a Problem for an error answer. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  throw new Problem(response.status, typeof error === "object" && error !== null ? error : { detail: String(error ?? "") || undefined });
}
