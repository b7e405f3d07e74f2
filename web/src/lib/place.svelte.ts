// How far down a page was read is kept with its entry in the history. A browser cannot do so
// where the content of a page is loaded anew.

import { untrack } from "svelte";

const still = 120; // milliseconds without scrolling
const patience = 3000; // milliseconds until the content is there

/** Lets each view that a page shows at an address of its own be as a page: it begins with the focus, and where it was read before. For the setup of a component. */
export function views(view: () => string) {
  $effect(keepPlaces);
  let shown = untrack(view);
  $effect(() => {
    if (shown === view()) return;
    shown = view();
    document.getElementById("main")?.focus({ preventScroll: true });
    showPlace();
  });
}

/** Begins to keep places; returns what ends that, for $effect. */
function keepPlaces(): () => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const scrolled = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => history.replaceState({ place: scrollY }, ""), still);
  };
  const left = () => clearTimeout(waiting); // what scrolls now is another page
  history.scrollRestoration = "manual";
  addEventListener("scroll", scrolled, { passive: true });
  addEventListener("hashchange", left);
  return () => {
    clearTimeout(waiting);
    history.scrollRestoration = "auto";
    removeEventListener("scroll", scrolled);
    removeEventListener("hashchange", left);
  };
}

/** Shows a page that has just come where it was read before, else its beginning. */
function showPlace() {
  const place = Number((history.state as { place?: number } | null)?.place ?? 0);
  scrollTo(0, 0);
  if (!place) return;
  const here = location.hash;
  const began = performance.now();
  const look = () => {
    if (location.hash !== here || performance.now() - began > patience) return;
    if (document.documentElement.scrollHeight >= place + innerHeight) scrollTo(0, place);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
