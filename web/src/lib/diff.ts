// Differences of two texts by words: what is kept, added and removed, in order.
export interface Part {
  kind: "kept" | "added" | "removed";
  text: string;
}

const most = 4000; // words of each side that are compared; the table has their product

/** Compares two texts by words (longest common subsequence). Texts that are too long are shown one after the other. */
export function differences(before: string, after: string): Part[] {
  const a = before.split(/(\s+)/).filter(Boolean);
  const b = after.split(/(\s+)/).filter(Boolean);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const parts: Part[] = [];
  add(parts, "kept", a.slice(0, start));
  compare(parts, a.slice(start, a.length - tail), b.slice(start, b.length - tail));
  add(parts, "kept", a.slice(a.length - tail));
  return parts;
}

function compare(parts: Part[], a: string[], b: string[]) {
  if (a.length * b.length > most * most) {
    add(parts, "removed", a);
    add(parts, "added", b);
    return;
  }
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width); // of a from i and b from j
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      longest[at] = a[i] === b[j] ? longest[at + width + 1]! + 1 : Math.max(longest[at + width]!, longest[at + 1]!);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add(parts, "kept", [a[i]!]);
      i++;
      j++;
    } else if (i < a.length && (j === b.length || longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      add(parts, "removed", [a[i++]!]);
    } else {
      add(parts, "added", [b[j++]!]);
    }
  }
}

function add(parts: Part[], kind: Part["kind"], words: string[]) {
  if (words.length === 0) return;
  const last = parts.at(-1);
  if (last?.kind === kind) last.text += words.join("");
  else parts.push({ kind, text: words.join("") });
}
