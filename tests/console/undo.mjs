// What the console did is taken back: what searches rank by is what it was.
import { browse, check, given, go, open, visitor } from "./lib.mjs";

await browse(async (browser) => {
  const context = await visitor(browser);
  const other = await context.request.post("/v1/weights/heuristic/promote", { headers: { Origin: given.server } });
  if (!other.ok()) throw new Error(`other weights: ${other.status()} ${await other.text()}`);
  await check("a rollback", (problems) => takenBack(context, problems, (page) => page.getByRole("button", { name: "Roll back", exact: true }).click()));
  await check("another version", (problems) => takenBack(context, problems, replace));
});

/** Makes the built-in weights live, which stand last. */
async function replace(page) {
  await page.getByRole("article").last().getByRole("button", { name: "Make it live…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Make it live", exact: true }).click();
}

async function takenBack(context, problems, act) {
  const page = await open(context);
  await go(page, "learning", "Learning");
  const before = await ranking(context);
  const live = page.getByRole("heading", { level: 2, name: /^Live: / });
  const shown = await live.innerText();
  await act(page);
  await live.filter({ hasNotText: shown }).waitFor();
  if ((await ranking(context)) === before) problems.push("nothing was done that can be taken back");
  const messages = page.getByRole("log", { name: "Messages" });
  await messages.getByRole("button", { name: "Undo" }).click();
  await messages.getByText("Taken back").waitFor();
  if ((await ranking(context)) !== before) problems.push("searches do not rank by what they did before");
  problems.push(...page.problems);
  await page.close();
}

/** What searches rank by: a version that is live again has another name. */
async function ranking(context) {
  const answer = await context.request.get("/v1/weights/live");
  return JSON.stringify(Object.entries((await answer.json()).features).sort());
}
