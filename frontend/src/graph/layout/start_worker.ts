// Starts the worker of the layout from a file of its own. The build of the report takes `start_inline_worker.ts` in place of this file.

export function startWorker(): Worker {
  return new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
}
