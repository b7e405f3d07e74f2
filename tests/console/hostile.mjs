// Documents, names, addresses, errors and records that are markup or scripts are shown as
// text, and nothing of them runs.
import { at, browse, check, each, eachTab, given, go, open, pages, settled, visitor } from "./lib.mjs";

/** Adds what came to be of a text that others wrote. */
async function harmless(page, problems, where) {
  const found = await page.evaluate(() => {
    const wrong = [];
    if ("ran" in window) wrong.push("a script ran");
    for (const e of document.querySelectorAll("[data-hostile]")) wrong.push(`an element came to be: ${e.outerHTML.slice(0, 120)}`);
    for (const e of document.querySelectorAll("[href], [src], [action], [formaction], [srcdoc]")) {
      for (const name of ["href", "src", "action", "formaction", "srcdoc"]) {
        const to = e.getAttribute(name);
        if (to !== null && (name === "srcdoc" || new URL(to, location.href).origin !== location.origin)) wrong.push(`${e.tagName} leads to ${to}`);
      }
    }
    return wrong;
  });
  problems.push(...found.map((p) => `${where}: ${p}`));
}

/** Adds the texts that should be seen and are not. */
async function seen(page, problems, where, texts) {
  const all = await page.evaluate(() => document.body.innerText + "\n" + [...document.querySelectorAll("input, textarea")].map((e) => e.value).join("\n"));
  const plain = (text) => text.replaceAll(/\s+/g, " ");
  for (const text of texts) if (!plain(all).includes(plain(text))) problems.push(`${where}: it does not show ${text}`);
}

await browse(async (browser) => {
  const context = await visitor(browser);
  const visit = (name, path, title, look) =>
    check(name, async (problems) => {
      const page = await open(context);
      try {
        await go(page, path, title);
        await harmless(page, problems, path);
        await look?.(page, problems);
        await eachTab(page, (tab) => harmless(page, problems, `${path}, ${tab}`));
      } finally {
        problems.push(...page.problems);
        await page.close();
      }
    });

  await each(pages, (p) => visit(p.path || "overview", p.path, p.name));
  await visit("results", `search?q=${encodeURIComponent("ferries goats")}`, "Search", async (page, problems) => {
    const results = page.getByRole("region", { name: "Results" }).getByRole("article");
    await results.first().waitFor();
    for (const button of await results.getByRole("button", { name: "How the score came about" }).all()) await button.click();
    await harmless(page, problems, "results");
    await seen(page, problems, "results", ["<img data-hostile src=x"]);
  });
  await visit("a hostile query", `search?q=${encodeURIComponent(given.texts[1])}`, "Search", (page, problems) => seen(page, problems, "query", [given.texts[1]]));
  await each(given.ids, async (id, n) => {
    await visit(`tool ${n}`, at("tools", id), /./, (page, problems) => seen(page, problems, "tool", [id]));
    await visit(`provider ${n}`, `tools?provider=${encodeURIComponent("evil" + given.texts[n])}`, "evil" + given.texts[n]);
    await visit(`source ${n}`, at("sources", `evil-${n}`), /./);
  });
  await check("each letter", async (problems) => {
    const page = await open(context);
    await go(page, "letters", "Dead letters");
    const links = page.getByRole("list", { name: "Dead letters" }).getByRole("link");
    await links.first().waitFor();
    const addresses = await links.evaluateAll((all) => all.map((e) => e.getAttribute("href")));
    if (addresses.length < given.texts.length) problems.push(`${addresses.length} letters are shown`);
    for (const address of addresses) {
      await page.goto("/console/" + address);
      await settled(page, "Dead letter");
      await harmless(page, problems, address);
    }
    problems.push(...page.problems);
  });
  await check("audit log", async (problems) => {
    const page = await open(context);
    await go(page, "access", "Access");
    await page.getByRole("tab", { name: "Audit log" }).click();
    await page.getByRole("region", { name: "Audit log" }).getByRole("row").nth(1).waitFor();
    await seen(page, problems, "audit log", ["data-hostile"]);
    await harmless(page, problems, "audit log");
    problems.push(...page.problems);
  });
});
