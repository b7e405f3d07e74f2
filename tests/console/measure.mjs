// How long pages take with all documents, what they hold, and what Lighthouse says of them.
import lighthouse from "lighthouse";
import { at, browse, check, figure, given, go, open, pages, visitor } from "./lib.mjs";

const mostHeap = 64; // MB that a page may hold
const wanted = 95; // of 100
const mostShift = 0.1; // of the page, by what moves while it loads: what Web Vitals call good

const routes = [...pages, { path: `search?q=${encodeURIComponent(given.query)}`, name: "Search" }, { path: at("tools", given.tool), name: /./ }];

await browse(
  async (browser) => {
    const context = await visitor(browser);
    for (const route of routes) {
      await check(`#/${route.path}`, async (problems) => {
        const page = await open(context);
        await page.addInitScript(() => {
          window.blocked = 0;
          new PerformanceObserver((list) => list.getEntries().forEach((e) => (window.blocked += e.duration - 50))).observe({ type: "longtask", buffered: true });
        });
        await go(page, route.path, route.name);
        const { there, blocked } = await page.evaluate(() => ({ there: performance.now(), blocked: window.blocked }));
        const devtools = await context.newCDPSession(page);
        await devtools.send("HeapProfiler.collectGarbage");
        await devtools.send("Performance.enable");
        const { metrics } = await devtools.send("Performance.getMetrics");
        const heap = metrics.find((m) => m.name === "JSHeapUsedSize").value / 1e6;
        figure(`#/${route.path}: milliseconds until it can be used`, Math.round(there));
        figure(`#/${route.path}: milliseconds of it in which it is blocked`, Math.round(blocked));
        figure(`#/${route.path}: MB of heap`, Number(heap.toFixed(1)));
        if (heap > mostHeap) problems.push(`it holds ${heap} MB`);
        problems.push(...page.problems);
        await page.close();
      });
    }
    await judge(context);
  },
  { args: [...(given.arguments ?? []), `--remote-debugging-port=${given.lighthouse}`] },
);

/** Runs Lighthouse on every page. How fast it finds them depends on the machine: that is told, what moves is judged. */
async function judge(context) {
  const cookie = (await context.cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
  for (const route of routes) {
    await check(`Lighthouse #/${route.path}`, async (problems) => {
      const { lhr } = await lighthouse(`${given.server}/console/#/${route.path}`, {
        port: given.lighthouse, logLevel: "error", onlyCategories: ["performance", "accessibility", "best-practices"], formFactor: "desktop", throttlingMethod: "simulate",
        screenEmulation: { mobile: false, width: 1350, height: 940, deviceScaleFactor: 1, disabled: false },
        throttling: { rttMs: 40, throughputKbps: 10240, cpuSlowdownMultiplier: 1 }, extraHeaders: { Cookie: cookie },
      });
      for (const id of ["first-contentful-paint", "largest-contentful-paint", "total-blocking-time"]) figure(`Lighthouse #/${route.path}: ${id} in ms`, Math.round(lhr.audits[id].numericValue));
      const shift = lhr.audits["cumulative-layout-shift"].numericValue;
      figure(`Lighthouse #/${route.path}: cumulative-layout-shift`, Number(shift.toFixed(3)));
      if (shift > mostShift) problems.push(`${shift.toFixed(2)} of the page moves while it loads: ${moved(lhr.audits)}`);
      for (const [id, category] of Object.entries(lhr.categories)) {
        const score = Math.round(category.score * 100);
        figure(`Lighthouse #/${route.path}: ${id}`, score);
        if (id !== "performance" && score < wanted) {
          const failed = category.auditRefs.map((r) => lhr.audits[r.id]).filter((a) => a.score !== null && a.score < 1);
          problems.push(`${id} ${score}: ${failed.map((a) => `${a.id}: ${(a.details?.items ?? []).map((i) => i.node?.selector ?? i.description ?? "").join(", ")}`).join("; ")}`);
        }
      }
    });
  }
}

/** Names the elements that moved. */
function moved(audits) {
  const nodes = [];
  JSON.stringify(audits["layout-shifts"]?.details ?? audits["cls-culprits-insight"]?.details ?? {}, (_, value) => {
    if (value?.type === "node") nodes.push(`${value.selector} (${value.nodeLabel})`);
    return value;
  });
  return nodes.join("; ");
}
