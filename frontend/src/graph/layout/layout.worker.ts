// The worker that runs the layout: one request in, one result out, whose arrays are transferred without a copy.

import { layout, type LayoutRequest, type Pieces } from "./core";

const scope = self as unknown as DedicatedWorkerGlobalScope;

const MOST_PIECES = 4000;
const pieces: Pieces = new Map();

scope.onmessage = (message: MessageEvent<LayoutRequest>) => {
  if (pieces.size > MOST_PIECES) pieces.clear();
  const result = layout(message.data, pieces);
  scope.postMessage(result, [result.centres.buffer, result.points.buffer, result.offsets.buffer, result.labels.buffer] as ArrayBuffer[]);
};
