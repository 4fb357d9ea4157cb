// Runs the layout beside the page: one request in, one result out, the arrays handed over without a copy.

import { layout, type LayoutRequest } from "./layout_core";

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = (message: MessageEvent<LayoutRequest>) => {
  const result = layout(message.data);
  scope.postMessage(result, [result.centres.buffer, result.points.buffer, result.offsets.buffer, result.labels.buffer] as ArrayBuffer[]);
};
