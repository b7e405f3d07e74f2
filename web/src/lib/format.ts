// How values are shown.

const numbers = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 17578 → "17,578". */
export const count = (n: number) => numbers.format(n);

/** 17578 → "17.6K". */
export const compact = (n: number) => short.format(n);

/** Three significant digits: 0.01234 → "0.0123". */
export const figure = (n: number) => (n === 0 ? "0" : Number(n.toPrecision(3)).toString());

/** "1 tool", "2 tools". */
export const plural = (n: number, noun: string, many = noun + "s") => `${count(n)} ${n === 1 ? noun : many}`;

/** Seconds → "850 ms", "4.2 s", "3 min", "5 h", "2 d". */
export function duration(seconds: number): string {
  if (seconds < 0.001) return seconds <= 0 ? "0 ms" : "<1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** Bytes → "1.2 GB". */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${Number(n.toPrecision(3))} ${units[i]}`;
}

/** How long before now a time of the server is, or how far ahead: "3 min ago", "in 20 s". */
export function ago(time: string | undefined, now: number): string {
  if (!time || time.startsWith("0001")) return "never";
  const seconds = (now - Date.parse(time)) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  return seconds > 0 ? `${duration(Math.max(1, seconds))} ago` : `in ${duration(-seconds)}`;
}

/** A time for a title: local, to the second. */
export const exact = (time: string | undefined) => (time ? new Date(time).toLocaleString() : "");

/** A shortened text. */
export const cut = (text: string, length: number) => (text.length <= length ? text : text.slice(0, length - 1) + "…");

/** 0.0123 → "+0.012". */
export const signed = (n: number) => (n > 0 ? "+" : n < 0 ? "−" : "") + Math.abs(n).toFixed(3);
