// The page's own idle signal: it is idle when no request, layout, frame or animation is pending.
// Work enters by `begin`; browser tests wait on `window.__collage.idle()` or on `data-idle` of <html>. A run that goes on
// in the server does not make the page busy, but where the page itself waits for its end.

const busy = new Map<number, string>();
const waiting = new Set<() => void>();
let next = 0;
let settling = 0;

/** Say that something is pending; the function that comes back says that it is over (again is harmless). */
export function begin(what: string): () => void {
  const key = next++;
  busy.set(key, what);
  mark(false);
  return () => {
    if (busy.delete(key) && busy.size === 0) settleSoon();
  };
}

/** `promise`, with the page busy until it settles. */
export async function during<T>(what: string, promise: Promise<T>): Promise<T> {
  const end = begin(what);
  try {
    return await promise;
  } finally {
    end();
  }
}

/** Resolves when nothing is pending, and what followed from the last thing has been given its turn. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve);
    if (busy.size === 0) settleSoon();
  });
}

/** What is pending, by name: for a person who wonders why a test waits. */
export function pending(): string[] {
  return [...busy.values()];
}

/** One more turn of the event loop, and a frame: an answer often starts the next piece of work, also where what it brought is drawn. */
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

/** After the next frame and what its drawing started; at once where nothing is drawn. */
function afterFrame(then: () => void): void {
  if (typeof document === "undefined" || document.visibilityState === "hidden") then();
  else requestAnimationFrame(() => setTimeout(then));
}

function mark(isIdle: boolean): void {
  if (typeof document !== "undefined") document.documentElement.dataset["idle"] = String(isIdle);
}
