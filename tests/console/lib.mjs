// What the scripts share: a browser, what it must not see, and how they tell the Go test.
//
// A script prints JSON, one object a line: {"check", "problems"} for each check that it made,
// {"figure", "value"} for what it measured, and {"ask"} for what the test has to do before it
// goes on, which answers with a line on the standard input.
import { createInterface } from "node:readline";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

/** What the test says: {server, token, chromium, …}. */
export const given = JSON.parse(process.argv[2]);

/** The pages that the navigation names, in its order, with the role that sees them. */
export const pages = [
  { path: "", name: "Overview", role: "operator" },
  { path: "search", name: "Search", role: "reader" },
  { path: "tools", name: "Tools", role: "reader" },
  { path: "sources", name: "Sources", role: "writer" },
  { path: "letters", name: "Dead letters", role: "operator" },
  { path: "learning", name: "Learning", role: "operator" },
  { path: "access", name: "Access", role: "operator" },
  { path: "quality", name: "Quality", role: "operator" },
];

/** The address of a page behind the #. */
export const at = (...parts) => parts.map(encodeURIComponent).join("/");

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Tells what came of a check. Without problems it passed. */
export const report = (check, problems) => print({ check, problems });

/** Tells a measured value. */
export const figure = (name, value) => print({ figure: name, value });

/** Asks the test to do something, and returns what it answers once that is done. */
export async function ask(what) {
  print({ ask: what });
  return JSON.parse((await answers.next()).value);
}

/** Runs a check: what it throws is a problem, beside those that it adds to the list. */
export async function check(name, run) {
  const problems = [];
  try {
    await run(problems);
  } catch (e) {
    problems.push(String(e.message ?? e).replaceAll(/\u001b\[\d+m/g, ""));
  }
  report(name, problems);
}

const atOnce = 2; // pages that are open together

/** Runs a function on each of a list, some at once. */
export async function each(list, run) {
  const left = list.entries();
  const work = async () => {
    for (const [n, item] of left) await run(item, n);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

// A guard against hanging for ever, not an expectation.
const patience = 30_000;

/** Starts the browser, runs the script, and ends the browser. */
export async function browse(script, options = {}) {
  const browser = await chromium.launch({ executablePath: given.chromium, args: given.arguments, ...options });
  try {
    await script(browser);
  } finally {
    await browser.close();
    process.stdin.destroy();
  }
}

/** Opens a window of its own, signed in with a token unless that is empty. */
export async function visitor(browser, { token = given.token, server = given.server, ...options } = {}) {
  const context = await browser.newContext({ baseURL: server, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC", viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  if (token) {
    const answer = await context.request.post("/v1/session", { data: { token }, headers: { Origin: server } });
    if (!answer.ok()) throw new Error(`sign in: ${answer.status()} ${await answer.text()}`);
  }
  return context;
}

/** Opens a page that collects what must not happen in it: page.problems. */
export async function open(context, server = given.server) {
  const page = await context.newPage();
  page.problems = [];
  const host = new URL(server).host;
  const wrong = (what) => page.problems.push(what);
  page.on("console", (m) => {
    // A refused request stands in the console without its address, and is told below with it.
    if (["error", "warning"].includes(m.type()) && !m.text().startsWith("Failed to load resource")) wrong(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) => wrong(`uncaught: ${e.message}`));
  page.on("dialog", (d) => {
    wrong(`a dialog: ${d.message()}`);
    void d.dismiss();
  });
  page.on("request", (r) => {
    const at = new URL(r.url());
    if (!["data:", "blob:", "about:"].includes(at.protocol) && at.host !== host) wrong(`a request to another host: ${r.url()}`);
  });
  page.on("requestfailed", (r) => {
    const why = r.failure()?.errorText;
    if (why !== "net::ERR_ABORTED") wrong(`${r.method()} ${r.url()}: ${why}`); // the page itself aborts what it no longer wants
  });
  page.on("response", (r) => {
    // Many providers have no document of their own, which only asking tells.
    const expected = r.status() === 404 && /\/v1\/providers\/[^/]+$/.test(r.url());
    if (r.status() >= 400 && !expected) wrong(`${r.request().method()} ${r.url()}: ${r.status()}`);
  });
  await page.exposeFunction("violated", (what) => wrong(`the policy of the page forbids: ${what}`));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => window.violated(`${e.violatedDirective} ${e.blockedURI} ${e.sample} ${e.sourceFile}:${e.lineNumber}`));
  });
  return page;
}

/** Chooses each part of a page that is behind a tab, but the one that is shown, and looks at it. */
export async function eachTab(page, look) {
  const tabs = page.getByRole("main").getByRole("tab");
  for (let i = 1; i < (await tabs.count()); i++) {
    const name = (await tabs.nth(i).innerText()).replace(/\s*\(.*/, "");
    await tabs.nth(i).click();
    await settled(page);
    await look(name);
  }
}

/** The region that says whether the page is live, when it says so. */
export const connection = (page, state) => page.getByRole("main").getByRole("status").filter({ hasText: new RegExp(`^\\s*${state}\\b`) });

/** Goes to an address behind the #, and waits until the page is there and has loaded. */
export async function go(page, path, name) {
  await page.goto(`/console/#/${path}`);
  await settled(page, name);
}

/** Waits until the page of this name is there and loads nothing more. */
export async function settled(page, name) {
  if (name) await heading(page, name).waitFor();
  await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector('[aria-busy="true"]'));
}

export const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: typeof name === "string" });

/** What a program leaves on a page where a value was expected. */
const garbage = /\b(undefined|NaN|Infinity|null)\b|\[object \w+\]|Invalid Date/;

/** Adds texts that only a program that went wrong shows. Documents may hold any text. */
export async function legible(page, problems) {
  const text = await page.locator("body").innerText();
  for (const line of text.split("\n")) if (garbage.test(line) && line.length < 80) problems.push(`it shows ${JSON.stringify(line)}`);
}

/** Adds what axe finds against WCAG 2.2, levels A and AA, or against one of its rules. */
export async function accessible(page, problems, where = "", rule = "") {
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] }); // there are no frames
  const found = await (rule ? axe.withRules([rule]) : axe.withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"])).analyze();
  for (const broken of found.violations) {
    for (const node of broken.nodes) {
      problems.push(`${where}axe ${broken.id} (${broken.impact}): ${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1).join(" ").trim()}: ${node.html.slice(0, 200)}`);
    }
  }
}

const redrawn = 3_000; // milliseconds in which a page follows the width of its window

/** Adds the innermost elements for which the page has to be scrolled sideways. */
export async function narrow(page, problems) {
  await page.waitForFunction(() => document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth, undefined, { timeout: redrawn }).catch(() => {});
  const wide = await page.evaluate(() => {
    const root = document.scrollingElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    // What an element below the page clips does not make the page wide, unless it stands outside of the flow.
    const clipped = (e) => e && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || (getComputedStyle(e).position !== "absolute" && clipped(e.parentElement)));
    const out = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 0.5 && (getComputedStyle(e).position === "absolute" || !clipped(e.parentElement)));
    const name = (e) => e.tagName.toLowerCase() + (e.id && "#" + e.id) + [...e.classList].map((c) => "." + c).join("");
    const inner = out.filter((e) => !out.some((other) => other !== e && e.contains(other)));
    return [`${root.scrollWidth} pixels in ${root.clientWidth}`, ...inner.slice(0, 8).map((e) => `${name(e.parentElement)} > ${name(e)} ends at ${Math.round(e.getBoundingClientRect().right)}: ${e.textContent.trim().slice(0, 60)}`)];
  });
  if (wide.length) problems.push(`it scrolls sideways: ${wide.join("; ")}`);
}
