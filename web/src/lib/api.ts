// The HTTP API, with the types of its OpenAPI document: those of the TypeScript client.
import createClient from "openapi-fetch";
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

/** Who asks: set by the session, told of answers that say the sign-in has ended. */
export const onUnauthorized: { run: () => void } = { run: () => {} };

export const api = createClient<paths>({
  baseUrl: location.origin,
  fetch: async (request) => {
    try {
      return await fetch(request);
    } catch (e) {
      if (request.signal.aborted) throw e;
      throw new Unreachable();
    }
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of an answer. Throws a Problem for an error answer. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  if (response.status === 401) onUnauthorized.run();
  throw new Problem(response.status, typeof error === "object" && error !== null ? error : { detail: String(error ?? "") || undefined });
}
