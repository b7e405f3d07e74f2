// The server is killed while pages are open: they say so, keep what they show, come back by
// themselves, and show what is new.
import { ask, browse, check, connection, given, go, open, settled, visitor } from "./lib.mjs";

await browse(async (browser) => {
  const context = await visitor(browser);
  const [overview, tools, sources] = [await open(context), await open(context), await open(context)];
  await check("before", async () => {
    await go(overview, "", "Overview");
    await go(tools, "tools", "Tools");
    await go(sources, "sources", "Sources");
    for (const page of [overview, tools, sources]) await connection(page, "live").waitFor();
  });
  await check("the server is killed", async (problems) => {
    await ask("kill");
    for (const page of [overview, tools]) await connection(page, "disconnected").waitFor();
    await sources.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Access" }).click(); // which was not loaded yet
    await sources.getByRole("alert").filter({ hasText: /could not be loaded/ }).waitFor();
    if ((await tools.getByRole("list", { name: "Providers" }).getByRole("link").count()) === 0) problems.push("what was shown is gone");
  });
  await check("the server is back", async () => {
    await ask("start");
    for (const page of [overview, tools]) {
      await connection(page, "live").waitFor();
      await settled(page);
    }
    await settled(sources, "Access");
    await sources.getByRole("alert").filter({ hasText: /./ }).waitFor({ state: "detached" });
  });
  await check("what is new is shown", async (problems) => {
    const count = tools.getByRole("main").getByRole("heading", { level: 2, name: /^[\d,.]+ tools of/ });
    const before = await count.innerText();
    await ask("add");
    await count.filter({ hasNotText: before }).waitFor();
    for (const page of [overview, tools]) {
      // That the server was away stands in the console of the browser, and is what happened.
      problems.push(...page.problems.filter((p) => !/ERR_(CONNECTION_|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|NETWORK_)|: 503$/.test(p)));
    }
  });
});
