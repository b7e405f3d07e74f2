// Somebody without a mouse does what the console is for.
import { browse, check, given, go, heading, open, settled, visitor } from "./lib.mjs";

const most = 200; // stops of the tab key to what is wanted

/** Presses Tab until what is wanted has the focus, which has to be seen. */
async function tabTo(page, wanted, problems, key = "Tab") {
  await wanted.waitFor();
  for (let i = 0; i < most; i++) {
    if (await wanted.evaluate((e) => e === document.activeElement)) {
      const shown = await wanted.evaluate((e) => {
        const s = getComputedStyle(e);
        const b = e.getBoundingClientRect();
        return { outlined: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0, inside: b.bottom > 0 && b.top < innerHeight && b.width > 0 };
      });
      if (!shown.outlined) problems.push(`the focus on ${wanted} cannot be seen`);
      if (!shown.inside) problems.push(`${wanted} has the focus and is out of sight`);
      return;
    }
    await page.keyboard.press(key);
  }
  throw new Error(`${most} times ${key} do not come to ${wanted}: the focus is on ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`);
}

await browse(async (browser) => {
  const context = await visitor(browser, { token: "" });
  const page = await open(context);
  const main = page.getByRole("main");
  const press = async (wanted, problems, key = "Enter") => {
    await tabTo(page, wanted, problems);
    await page.keyboard.press(key);
  };
  const step = (name, run) =>
    check(name, async (problems) => {
      await run(problems);
      problems.push(...page.problems.splice(0));
    });

  const aTool = async () => {
    await page.waitForURL(/#\/tools\/./);
    await main.getByRole("tab", { name: "Document", exact: true }).waitFor();
    await settled(page);
  };

  await step("sign in", async (problems) => {
    await page.goto("/console/");
    await heading(page, "Sign in to toolstream").waitFor();
    await tabTo(page, page.getByLabel("Token"), problems);
    await page.keyboard.type(given.token);
    await page.keyboard.press("Enter");
    await settled(page, "Overview");
  });
  await step("skip the navigation", async (problems) => {
    await go(page, "sources", "Sources");
    await page.reload();
    await settled(page, "Sources");
    await page.keyboard.press("Tab");
    const skip = page.getByRole("link", { name: /^Skip/ });
    await tabTo(page, skip, problems);
    await page.keyboard.press("Enter");
    if (!(await main.evaluate((e) => e.contains(document.activeElement)))) problems.push("the focus is not in the page");
  });
  await step("search", async (problems) => {
    await page.reload(); // the focus begins at the top
    await settled(page, "Sources");
    await press(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Search" }), problems);
    await settled(page, "Search");
    if (!(await main.evaluate((e) => e.contains(document.activeElement)))) problems.push("a new page does not take the focus");
    await tabTo(page, page.getByRole("searchbox", { name: "Query" }), problems);
    await page.keyboard.type(given.query);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Results" }).getByRole("article").first().waitFor();
    await settled(page);
  });
  const first = page.getByRole("region", { name: "Results" }).getByRole("article").first();
  await step("see why", async (problems) => {
    await press(first.getByRole("button", { name: "How the score came about" }), problems);
    await first.getByRole("table").first().waitFor();
  });
  await step("give feedback", async (problems) => {
    await press(first.getByRole("group", { name: /^Feedback/ }).getByRole("button", { name: "Succeeded" }), problems, "Space");
    await first.getByRole("status").filter({ hasText: "Recorded" }).waitFor();
  });
  await step("open a result", async (problems) => {
    await tabTo(page, first.getByRole("heading", { level: 3 }).getByRole("link"), problems, "Shift+Tab");
    await page.keyboard.press("Enter");
    await aTool();
  });
  await step("see the parts of a tool", async (problems) => {
    await tabTo(page, main.getByRole("tab").first(), problems);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll('[role="tab"]')[1].getAttribute("aria-selected") === "true");
    await settled(page);
  });
  await step("go from a provider to a tool", async (problems) => {
    await go(page, "tools", "Tools");
    await tabTo(page, page.getByPlaceholder("Filter providers"), problems);
    await page.keyboard.type(given.provider);
    await press(page.getByRole("list", { name: "Providers" }).getByRole("link", { name: new RegExp(`^${given.provider}\\s`) }), problems);
    await settled(page, given.provider);
    await press(page.getByRole("list", { name: `Tools of ${given.provider}` }).getByRole("link").first(), problems);
    await aTool();
  });
  await step("add a source", async (problems) => {
    await go(page, "sources", "Sources");
    await press(main.getByRole("link", { name: "Add a source" }), problems);
    await settled(page, "Add a source");
    await tabTo(page, page.getByRole("textbox", { name: /^Name/ }), problems);
    await page.keyboard.type("by-keyboard");
    await tabTo(page, page.getByRole("combobox", { name: /^Kind/ }), problems);
    await page.keyboard.type("OpenAPI");
    await tabTo(page, page.getByRole("textbox", { name: /^Address/ }), problems);
    await page.keyboard.type(given.openapi);
    await press(page.getByRole("checkbox", { name: /private address/ }), problems, "Space");
    await tabTo(page, main.getByRole("button", { name: "Test", exact: true }), problems);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^The test found/ }).waitFor();
    await press(main.getByRole("button", { name: "Save", exact: true }), problems);
    await settled(page, "by-keyboard");
  });
});
