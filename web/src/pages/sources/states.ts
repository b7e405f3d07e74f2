// The states of sources, in words.
export const states: Record<string, { name: string; kind: "good" | "warn" | "bad" | "plain"; about: string }> = {
  live: { name: "live", kind: "good", about: "The source says itself when its list changes." },
  polling: { name: "polling", kind: "good", about: "The source is looked at from time to time." },
  stale: { name: "stale", kind: "bad", about: "The source could not be seen for three periods. Its tools stay as they were last seen." },
  auth_needed: { name: "credential needed", kind: "bad", about: "The source wants a credential, or another one than it was given." },
  refused: { name: "refused", kind: "bad", about: "The settings of the server do not allow this source." },
  held: { name: "deletion held", kind: "warn", about: "The source lost more than half of its tools. They stay until you confirm the deletion." },
  paused: { name: "paused", kind: "plain", about: "The source is not looked at." },
  removing: { name: "being removed", kind: "plain", about: "The source and its tools are being removed." },
};
