// The page's idle signal: the page is idle when no request, layout, frame or animation is pending. Work registers with `begin`;
// browser tests wait for `window.__collage.idle()` or `data-idle` of <html>. A run on the server makes the page busy only where
// the page itself waits for the end of that run.

const busy = new Map<number, string>();
const waiting = new Set<() => void>();
let next = 0;
let settling = 0;

/** Register pending work. The function that is returned ends it; calling that twice is harmless. */
export function begin(what: string): () => void {
  const key = next++;
  busy.set(key, what);
  mark(false);
  return () => {
    if (busy.delete(key) && busy.size === 0) settleSoon();
  };
}

/** Return `promise`, and keep the page busy until it settles. */
export async function during<T>(what: string, promise: Promise<T>): Promise<T> {
  const end = begin(what);
  try {
    return await promise;
  } finally {
    end();
  }
}

/** Resolves when nothing is pending, and work that followed from the last piece had the time to begin. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve);
    if (busy.size === 0) settleSoon();
  });
}

/** The names of all pending work, which tell why a test waits. */
export function pending(): string[] {
  return [...busy.values()];
}

/** Settle after one more turn of the event loop and a frame: an answer, or the drawing of it, often starts the next piece of work. */
function settleSoon(): void {
  const mine = ++settling;
  const settle = (): void => {
    if (mine !== settling || busy.size > 0) return;
    mark(true);
    const resolved = [...waiting];
    waiting.clear();
    for (const resolve of resolved) resolve();
  };
  setTimeout(() => afterFrame(settle), 20);
}

/** Call `then` after the next frame and the work that its drawing starts; at once where nothing is drawn. */
function afterFrame(then: () => void): void {
  if (typeof document === "undefined" || document.visibilityState === "hidden") then();
  else requestAnimationFrame(() => setTimeout(then));
}

function mark(isIdle: boolean): void {
  if (typeof document !== "undefined") document.documentElement.dataset["idle"] = String(isIdle);
}
