// A trace that was written by the engine: tests/engine/test_trace.py holds it to the format.

import type { TraceChunk, TraceFacts } from "../src/data/protocol";
import data from "./trace.json";

export const trace: { facts: TraceFacts; chunks: TraceChunk[] } = data;
