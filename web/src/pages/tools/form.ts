// What a form shows for a JSON schema (2020-12): a small part of it; the rest is edited as JSON.
export type Schema = Record<string, unknown>;

interface Common {
  title: string;
  description: string;
  hint: string; // format, limits, default and example, in words
}

export type Field =
  | (Common & { kind: "text" | "boolean" | "json" })
  | (Common & { kind: "number"; whole: boolean })
  | (Common & { kind: "choice"; choices: unknown[] })
  | (Common & { kind: "object"; properties: [name: string, schema: Schema, required: boolean][] })
  | (Common & { kind: "array"; items: Schema });

const deepest = 8; // schemas refer to themselves

/** Says how the value of a schema is edited. root is where its references point into. */
export function field(schema: unknown, root: Schema, depth: number): Field {
  const s = plain(schema, root);
  const common = { title: text(s.title), description: text(s.description), hint: hint(s) };
  if (depth > deepest || s.not || s.if || s.oneOf || s.anyOf || s.allOf) return { ...common, kind: "json" };
  if ("const" in s) return { ...common, kind: "choice", choices: [s.const] };
  if (Array.isArray(s.enum)) return { ...common, kind: "choice", choices: s.enum };
  switch (typeOf(s)) {
    case "string": return { ...common, kind: "text" };
    case "boolean": return { ...common, kind: "boolean" };
    case "number": return { ...common, kind: "number", whole: false };
    case "integer": return { ...common, kind: "number", whole: true };
    case "array": return s.prefixItems || !isSchema(s.items) ? { ...common, kind: "json" } : { ...common, kind: "array", items: s.items };
    case "object": {
      const properties = isSchema(s.properties) ? Object.entries(s.properties) : [];
      if (properties.length === 0 && (depth > 0 || open(s))) return { ...common, kind: "json" };
      const required = new Set(Array.isArray(s.required) ? s.required : []);
      return { ...common, kind: "object", properties: properties.map(([name, of]) => [name, isSchema(of) ? of : {}, required.has(name)]) };
    }
    default: return { ...common, kind: "json" };
  }
}

/** Reports whether a form shows a value as it is. */
export function fits(f: Field, value: unknown): boolean {
  switch (f.kind) {
    case "text": return typeof value === "string";
    case "number": return typeof value === "number";
    case "boolean": return typeof value === "boolean";
    case "choice": return f.choices.some((c) => JSON.stringify(c) === JSON.stringify(value));
    case "array": return Array.isArray(value);
    case "object": return isSchema(value);
    case "json": return true;
  }
}

/** Resolves references, and what has one meaning alone: allOf of one, a choice between one thing and null. */
function plain(schema: unknown, root: Schema): Schema {
  let s = isSchema(schema) ? schema : {};
  for (let i = 0; i < 20; i++) {
    if (typeof s.$ref === "string") {
      const { $ref, ...beside } = s;
      s = { ...resolve(s.$ref, root), ...beside };
      continue;
    }
    const one = alone(s);
    if (!one) return s;
    const { anyOf: _, oneOf: __, allOf: ___, ...beside } = s;
    s = { ...one, ...beside };
  }
  return { oneOf: [] }; // refers to itself: edited as JSON
}

function alone(s: Schema): Schema | undefined {
  const lists = [s.anyOf, s.oneOf, s.allOf].filter(Array.isArray) as unknown[][];
  if (lists.length !== 1) return undefined;
  const some = lists[0]!.filter((o) => !(isSchema(o) && o.type === "null" && lists[0] !== s.allOf));
  return some.length === 1 && isSchema(some[0]) ? some[0] : undefined;
}

function resolve(ref: string, root: Schema): Schema {
  if (!ref.startsWith("#")) return {};
  let at: unknown = root;
  for (const part of ref.slice(1).split("/").filter(Boolean)) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    at = (isSchema(at) || Array.isArray(at)) && Object.hasOwn(at, name) ? (at as Schema)[name] : undefined;
  }
  return isSchema(at) ? at : {};
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // no escape that a browser knows
  }
}

/** The type, where it is one beside null. */
function typeOf(s: Schema): unknown {
  if (Array.isArray(s.type)) {
    const some = s.type.filter((t) => t !== "null");
    return some.length === 1 ? some[0] : undefined;
  }
  return s.type ?? (isSchema(s.properties) ? "object" : undefined);
}

const open = (s: Schema) => s.additionalProperties !== undefined && s.additionalProperties !== false;

function hint(s: Schema): string {
  const parts: string[] = [];
  if (typeof s.format === "string") parts.push(s.format);
  if (typeof s.minimum === "number") parts.push(`at least ${s.minimum}`);
  if (typeof s.maximum === "number") parts.push(`at most ${s.maximum}`);
  if (typeof s.minLength === "number") parts.push(s.minLength === 1 ? "not empty" : `${s.minLength} characters or more`);
  if (typeof s.maxLength === "number") parts.push(`at most ${s.maxLength} characters`);
  if (typeof s.minItems === "number") parts.push(`${s.minItems} or more`);
  if (typeof s.maxItems === "number") parts.push(`at most ${s.maxItems}`);
  if (typeof s.pattern === "string") parts.push(`pattern ${s.pattern}`);
  if (s.default !== undefined) parts.push(`default ${JSON.stringify(s.default)}`);
  if (Array.isArray(s.examples) && s.examples.length) parts.push(`such as ${JSON.stringify(s.examples[0])}`);
  return parts.join(", ");
}

const text = (v: unknown) => (typeof v === "string" ? v : "");

export const isSchema = (v: unknown): v is Schema => typeof v === "object" && v !== null && !Array.isArray(v);

/** The value of a new entry, to begin with. */
export function blank(kind: Field["kind"]): unknown {
  return kind === "object" ? {} : kind === "array" ? [] : kind === "text" ? "" : null;
}

/** A part of a JSON pointer. */
export const step = (name: string | number) => "/" + String(name).replaceAll("~", "~0").replaceAll("/", "~1");

/** A whole number within a value that is too large to be kept exactly, as 2^53 + 1 is. */
export function inexact(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const v of Object.values(value)) {
    const found = inexact(v);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A member of an object, of its own. */
export const memberOf = (of: unknown, name: string): unknown => (isSchema(of) && Object.hasOwn(of, name) ? of[name] : undefined);

/** A changed copy of an object; undefined takes the member away. */
export function withMember(of: unknown, name: string, value: unknown): Schema {
  const next = isSchema(of) ? { ...of } : {};
  if (value === undefined) delete next[name];
  else Object.defineProperty(next, name, { value, enumerable: true, configurable: true, writable: true }); // also for __proto__
  return next;
}
