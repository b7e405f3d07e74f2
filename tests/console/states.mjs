// Every page while nothing is there, while it loads, when the server fails, and for who may
// not see it.
import { browse, check, each, given, go, heading, legible, open, pages, settled, visitor } from "./lib.mjs";

const api = (url) => url.pathname.startsWith("/v1/") && !url.pathname.startsWith("/v1/session");
const main = (page) => page.getByRole("main");

await browse(async (browser) => {
  const context = await visitor(browser);
  const [nothing, reader] = [await visitor(browser, given.empty), await visitor(browser, { token: given.reader })];
  await each(pages, async (p) => {
    const name = p.path || "overview";
    await check(`${name}: nothing is there`, (problems) => using(nothing, problems, (page) => empty(page, p, problems), given.empty.server));
    await check(`${name}: it loads`, (problems) => using(context, problems, (page) => loading(page, p, problems)));
    await check(`${name}: the server fails`, (problems) => using(context, problems, (page) => failing(page, p, problems)));
    await check(`${name}: for a reader`, (problems) => using(reader, problems, (page) => unpermitted(page, p, problems)));
  });
});

async function using(context, problems, look, server) {
  const page = await open(context, server);
  try {
    await look(page);
    await legible(page, problems);
  } finally {
    problems.push(...page.problems);
    await page.close();
  }
}

/** Without tools, sources and whatever else comes from use, a page says what would be there. */
async function empty(page, { path, name }, problems) {
  await go(page, path, name);
  const words = (await main(page).innerText()).trim().split(/\s+/).length;
  if (words < 12) problems.push(`it says no more than ${words} words`);
}

/** While the server has not answered, a page says that it loads. */
async function loading(page, { path, name }, problems) {
  let release;
  const released = new Promise((done) => (release = done));
  await page.route(api, async (route) => {
    await released;
    await route.continue().catch(() => {}); // the page may have given it up
  });
  await page.goto(`/console/#/${path}`);
  await page.locator('[aria-busy="true"]').first().waitFor();
  const says = await page.locator('[aria-busy="true"]').first().innerText();
  if (!/\S/.test(says)) problems.push("it does not say that it loads");
  await heading(page, name).waitFor();
  release();
  await settled(page, name);
}

/** When the server fails, a page says so, and what it does then is right once the server does well. */
async function failing(page, { path, name }, problems) {
  const broken = { status: 500, contentType: "application/problem+json", body: JSON.stringify({ title: "Internal Server Error", status: 500, detail: "the index is on fire" }) };
  await page.route(api, (route) => route.fulfill(broken));
  await page.goto(`/console/#/${path}`);
  const alert = page.getByRole("alert").filter({ hasText: "the index is on fire" }).first();
  await alert.waitFor();
  await page.unroute(api);
  await alert.getByRole("button", { name: "Try again" }).click();
  await settled(page, name);
  await page.waitForFunction(() => ![...document.querySelectorAll('[role="alert"]')].some((e) => e.textContent.includes("on fire")));
  page.problems = page.problems.filter((p) => !/: 500$/.test(p));
}

/** A reader sees the pages for readers, and of others what role they need; nothing is asked for in vain. */
async function unpermitted(page, { path, name, role }, problems) {
  await page.goto(`/console/#/${path}`);
  const allowed = role === "reader";
  await settled(page, path === "" ? "Search" : name); // readers begin at the search
  const links = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
  const wanted = pages.filter((p) => p.role === "reader").map((p) => p.name);
  if (links.map((l) => l.trim()).join() !== wanted.join()) problems.push(`the navigation names ${links}, not ${wanted}`);
  if (path !== "" && (await main(page).getByText(`This page needs the role`).count()) !== (allowed ? 0 : 1)) problems.push(allowed ? "it is refused" : "it does not say which role it needs");
  if (allowed && (await page.getByRole("alert").filter({ hasText: /./ }).count())) problems.push(`it shows a failure: ${await page.getByRole("alert").first().innerText()}`);
}
