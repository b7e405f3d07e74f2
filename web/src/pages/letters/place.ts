// Finds the line of a JSON pointer (RFC 6901) in a JSON text, from 1; undefined where the text is not JSON or has no such place.
export function lineOf(text: string, pointer: string): number | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const wanted = pointer.split("/").slice(1).map((p) => p.replaceAll("~1", "/").replaceAll("~0", "~"));
  let at = skip(text, 0);
  for (const part of wanted) {
    const next = text[at] === "{" ? member(text, at, part) : text[at] === "[" ? element(text, at, Number(part)) : undefined;
    if (next === undefined) break; // what is missing is missing here
    at = next;
  }
  return text.slice(0, at).split("\n").length;
}

// The text is valid JSON from here on.

function skip(text: string, at: number): number {
  while (" \t\r\n,:".includes(text[at] ?? "x")) at++;
  return at;
}

function member(text: string, at: number, name: string): number | undefined {
  for (at = skip(text, at + 1); text[at] !== "}"; ) {
    const end = after(text, at);
    const value = skip(text, end);
    if (JSON.parse(text.slice(at, end)) === name) return value;
    at = skip(text, after(text, value));
  }
  return undefined;
}

function element(text: string, at: number, index: number): number | undefined {
  let i = 0;
  for (at = skip(text, at + 1); text[at] !== "]"; at = skip(text, after(text, at))) if (i++ === index) return at;
  return undefined;
}

// The end of the value that begins at a place.
function after(text: string, at: number): number {
  let depth = 0;
  do {
    const c = text[at]!;
    if (c === '"') {
      for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
      at++;
    } else if ("{[".includes(c)) {
      depth++;
      at++;
    } else if ("}]".includes(c)) {
      depth--;
      at++;
    } else if (depth > 0) at++;
    else while (at < text.length && !" \t\r\n,:]}".includes(text[at]!)) at++;
  } while (depth > 0);
  return at;
}
