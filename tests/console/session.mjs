// What becomes of a page when its sign-in ends, and how it is kept from ending.
import { accessible, ask, browse, check, connection, given, go, open, settled, visitor } from "./lib.mjs";

await browse(async (browser) => {
  await check("a sign-in that ends", (problems) => ends(browser, problems));
  await check("a sign-in that is renewed", (problems) => renewed(browser, problems));
});

/** What somebody has typed is there when they are signed in again. */
async function ends(browser, problems) {
  const context = await visitor(browser, { token: given.brief });
  const page = await open(context);
  await go(page, "sources?add=1", "Add a source");
  const name = page.getByRole("textbox", { name: /^Name/ });
  await name.fill("half-written");
  await ask("revoke");
  const dialog = page.getByRole("dialog", { name: "Your sign-in has ended" });
  await dialog.waitFor();
  await settled(page);
  await accessible(page, problems);
  await page.keyboard.press("Escape");
  await dialog.getByLabel("Token").fill("wrong");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").filter({ hasText: /./ }).waitFor();
  await dialog.getByLabel("Token").fill(given.token);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await connection(page, "live").waitFor();
  if ((await name.inputValue()) !== "half-written") problems.push(`what was typed is now ${JSON.stringify(await name.inputValue())}`);
  problems.push(...page.problems.filter((p) => !/: 401$/.test(p)));
  await context.close();
}

/** Pages that share a session renew it once, and stay live by the new credential. */
async function renewed(browser, problems) {
  const context = await visitor(browser);
  let renewals = 0;
  const real = await (await context.request.get("/v1/session")).json();
  const answer = (route) => route.fulfill({ json: { ...real, renew_seconds: renewals ? 3600 : 0 } });
  await context.route("**/v1/session", answer);
  await context.route("**/v1/session:renew", (route) => {
    renewals++;
    return answer(route);
  });
  const both = [await open(context), await open(context)];
  await Promise.all(both.map((page) => go(page, "search", "Search")));
  for (const page of both) {
    await connection(page, "live").waitFor();
    problems.push(...page.problems);
  }
  if (renewals !== 1) problems.push(`two pages renewed their session ${renewals} times`);
  await context.close();
}
