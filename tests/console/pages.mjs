// Opens every page as an administrator: nothing fails, nothing is loaded from elsewhere, axe
// finds nothing, and nothing is wider than a telephone.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { accessible, at, browse, check, connection, each, eachTab, given, go, heading, legible, narrow, open, pages, settled, visitor } from "./lib.mjs";

const tallest = 3000; // pixels of a picture

// Every page, with what brings it into the state that people look at.
const routes = [
  ...pages.map((p) => ({ ...p, file: p.path || "overview" })),
  { path: `search?q=${encodeURIComponent(given.query)}`, name: "Search", file: "search-results", then: results },
  { path: `tools?provider=${encodeURIComponent(given.provider)}`, name: given.provider, file: "provider" },
  { path: "tools?quarantined=1", name: /./, file: "quarantine" },
  { path: at("tools", given.tool), name: /./, file: "tool" },
  { path: "sources?add=1", name: "Add a source", file: "source-form" },
  ...(given.source ? [{ path: at("sources", given.source), name: /./, file: "source" }] : []),
  { path: "letters", name: "Dead letters", file: "letter", then: letter },
  { path: "nowhere", name: "Not found", file: "not-found" },
];

async function results(page) {
  const first = page.getByRole("region", { name: "Results" }).getByRole("article").first();
  await first.getByRole("button", { name: "How the score came about" }).click();
}

async function letter(page) {
  await page.getByRole("list", { name: "Dead letters" }).getByRole("link").first().click();
  await settled(page, "Dead letter");
}

await browse(async (browser) => {
  const context = await visitor(browser);
  await each(routes, (route) => visit(context, route));
  if (given.thorough) await check("sign-in", (problems) => signIn(browser, problems));
});

function visit(context, route) {
  return check(route.file, async (problems) => {
    const page = await open(context);
    try {
      await go(page, route.path, route.name);
      await connection(page, "live").waitFor();
      await route.then?.(page);
      await look(page, problems, route.file);
      await eachTab(page, (tab) => look(page, problems, `${route.file}-${tab.toLowerCase().replaceAll(" ", "-")}`, `tab ${tab}: `));
    } finally {
      problems.push(...page.problems);
      await page.close();
    }
  });
}

/** Looks at the page; thoroughly, in both colour schemes and in three widths. */
async function look(page, all, file, where = "") {
  const problems = [];
  if ((await page.getByRole("heading", { level: 1 }).count()) !== 1) problems.push("it has not one heading of level 1");
  await legible(page, problems);
  if (given.thorough) {
    for (const scheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await accessible(page, problems, `${scheme}: `, scheme === "dark" ? "color-contrast" : ""); // nothing else depends on it
      await picture(page, `${file}-1280-${scheme}`);
    }
    for (const width of given.screenshots ? [3840, 360] : [360]) {
      await page.setViewportSize({ width, height: width === 360 ? 800 : 2160 });
      await settled(page);
      await narrow(page, problems);
      await picture(page, `${file}-${width}-light`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  }
  all.push(...problems.map((p) => where + p));
}

/** Takes a picture where pictures are wanted, in a window as tall as the page. */
async function picture(page, name) {
  if (!given.screenshots) return;
  mkdirSync(given.screenshots, { recursive: true });
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width, height: Math.min(await page.evaluate(() => document.scrollingElement.scrollHeight), tallest) });
  await settled(page);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await page.screenshot({ path: join(given.screenshots, name + ".png") });
  await page.setViewportSize({ width, height });
}

/** Looks at what those see who are not signed in, and signs in. */
async function signIn(browser, problems) {
  const context = await visitor(browser, { token: "" });
  const page = await open(context);
  await page.goto("/console/");
  await heading(page, "Sign in to toolstream").waitFor();
  await look(page, problems, "sign-in");
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: /./ }).waitFor();
  const refused = page.problems.splice(0);
  if (refused.length !== 1 || !refused[0].endsWith("/v1/session: 401")) problems.push(...refused);
  await page.getByLabel("Token").fill(given.token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, "Overview");
  problems.push(...page.problems);
  await context.close();
}
