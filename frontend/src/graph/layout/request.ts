// Requests layouts from the worker. A new request ends one that is still running, whose promise is rejected.

import { during } from "../../base/idle";
import type { LayoutRequest, LayoutResult } from "./core";
import { startWorker } from "./start_worker";

/** Thrown by a request that a newer one has ended. */
export class Superseded extends Error {}

let worker: Worker | undefined;
let abandon: ((reason: Error) => void) | undefined;

/** Start the worker while the model is still loading: starting takes as long as a small layout. */
export function prepareLayout(): void {
  ready();
}

function ready(): Worker {
  worker ??= startWorker();
  return worker;
}

/** Lay out in the worker. */
export function requestLayout(request: LayoutRequest): Promise<LayoutResult> {
  if (abandon) {
    worker?.terminate();
    worker = undefined;
    abandon(new Superseded());
  }
  const current = ready();
  const answer = new Promise<LayoutResult>((resolve, reject) => {
    abandon = reject;
    current.onmessage = (message: MessageEvent<LayoutResult>) => {
      abandon = undefined;
      resolve(message.data);
    };
    current.onerror = (event) => {
      abandon = undefined;
      reject(new Error(`the layout stopped: ${event.message}`));
    };
    current.postMessage(request);
  });
  return during("layout", answer);
}
