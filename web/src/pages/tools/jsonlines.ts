// JSON in lines, each with the JSON pointer of the value that begins on it.
export interface Line {
  text: string;
  pointer: string;
}

/** Writes a value as JSON.stringify does with an indent of two. */
export function jsonLines(value: unknown): Line[] {
  const lines: Line[] = [];
  write(lines, value, "", "", "", "");
  return lines;
}

function write(lines: Line[], value: unknown, pointer: string, indent: string, before: string, after: string) {
  const list = Array.isArray(value);
  const entries = list ? value.map((v, i) => [String(i), v] as const) : typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) {
    lines.push({ text: indent + before + JSON.stringify(value) + after, pointer });
    return;
  }
  lines.push({ text: indent + before + (list ? "[" : "{"), pointer });
  entries.forEach(([name, v], i) => {
    write(lines, v, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, indent + "  ", list ? "" : JSON.stringify(name) + ": ", i < entries.length - 1 ? "," : "");
  });
  lines.push({ text: indent + (list ? "]" : "}") + after, pointer: "" });
}
