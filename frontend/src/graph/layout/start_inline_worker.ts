// Starts the worker of the layout from text inside the script, for the report, which is one file. In place of `start_worker.ts` there.

import InlineWorker from "./layout.worker?worker&inline";

export function startWorker(): Worker {
  return new InlineWorker();
}
