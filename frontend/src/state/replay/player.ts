// The replay of the search of the shown run: its trace, the shown step, and playing from there.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { cancelFrame, requestFrame } from "../../base/frame_scheduler";
import { begin } from "../../base/idle";
import { api, asApiError } from "../../data/api";
import { isReport } from "../../data/config";
import type { ApiError, RunSnapshot, TraceFacts, TraceState } from "../../data/protocol";
import { ChunkStore } from "../../data/replay/chunk_store";
import { chunkOf, frameAt, stepWith, type ReplayFrame } from "../../data/replay/frames";
import { hasEnded } from "../../data/run/ended";
import { isShown, overlay, showDrawer } from "../display";
import { run } from "../run/run";

/** Possible speeds, in steps a second. */
export const SPEEDS = [2, 10, 100, 1000, 10_000] as const;
const LONGEST_PLAY_S = 60;
const LOOK_AGAIN_MS = 250;
/** The seconds between two frames where the user prefers reduced motion. */
const REDUCED_MOTION_S = 1;

/** The state of the trace of the shown run; null before it is known. */
export const traceState = signal<TraceState | null>(null);
/** Why the trace or one of its chunks could not be fetched; null for no error. */
export const traceError = signal<ApiError | null>(null);
export const replayStep = signal(0);
export const speed = signal<number>(SPEEDS[0]);
export const isPlaying = signal(false);

/** So many states are expanded at the step with which the replay begins when the run has ended; null for the first step. */
export const statesToReplay = signal<number | null>(null);

export const traceFacts = computed((): TraceFacts | null => (traceState.value?.state === "ready" ? traceState.value.facts : null));

const arrivals = signal(0);
const lastFrame = signal<ReplayFrame | null>(null);

/** The frame of the shown step; while its chunk is being fetched, the frame before. */
export const replayFrame = computed(() => (traceFacts.value ? lastFrame.value : null));
export const isLoadingStep = computed(() => traceFacts.value !== null && lastFrame.value?.step !== replayStep.value);

let store: ChunkStore | undefined;
let shownRun: string | undefined;

/** The run whose replay can be shown now; null where there is none, or where nothing shows it. */
const replayable = computed((): RunSnapshot | null => {
  const isOpen = overlay.value === "search" || isShown("search");
  return isOpen && run.value && hasEnded(run.value) && run.value.plan ? run.value : null;
});

/** Keep the replay in step with the shown run and step. */
export function watchReplay(): void {
  effect(() => {
    const current = run.value;
    const id = current?.id;
    if (id === shownRun) return;
    const isGoing = current !== null && !hasEnded(current);
    if (shownRun !== undefined && overlay.peek() === "search" && !isGoing) overlay.value = "target";
    shownRun = id;
    statesToReplay.value = null;
    reset(null);
  });
  effect(() => {
    const [current, states] = [run.value, statesToReplay.value];
    if (states === null || !current || !hasEnded(current)) return;
    untracked(() => showDrawer("search")); // whereupon it is asked for the trace's state
    if (current.plan && traceState.value?.run !== current.id) return;
    statesToReplay.value = null;
    if (current.plan) void untracked(() => replayFrom(current.id, states));
  });
  const wanted = computed(() => replayable.value?.id);
  effect(() => {
    if (wanted.value !== undefined && traceState.peek()?.run !== wanted.value) void settle(wanted.value, api.trace(wanted.value));
  });
  effect(() => {
    void arrivals.value;
    show(replayStep.value);
  });
}

function reset(state: TraceState | null): void {
  pause();
  const own = state?.run ?? "";
  store = new ChunkStore((number) => api.traceChunk(own, number), () => (arrivals.value += 1), lost);
  batch(() => {
    traceState.value = state;
    traceError.value = null;
    lastFrame.value = null;
    if (state === null) replayStep.value = 0;
    else if (state.facts) replayStep.value = Math.min(replayStep.value, Math.max(0, state.facts.steps - 1));
    if (state?.facts) speed.value = SPEEDS.find((one) => (state.facts?.steps ?? 0) / one <= LONGEST_PLAY_S) ?? SPEEDS[SPEEDS.length - 1] ?? 1;
    arrivals.value += 1;
  });
}

function lost(error: unknown): void {
  pause();
  traceError.value = asApiError(error);
}

/** Take the state of a trace, and ask again as long as the search is being traced. */
async function settle(id: string, asked: Promise<TraceState>): Promise<void> {
  const end = begin("trace");
  try {
    let state = await asked;
    while (run.peek()?.id === id) {
      reset(state);
      if (state.state !== "tracing") return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      state = await api.trace(id);
    }
  } catch (error) {
    if (run.peek()?.id === id) traceError.value = asApiError(error);
  } finally {
    end();
  }
}

/** Trace the search of the shown run. */
export async function traceSearch(): Promise<void> {
  const id = run.peek()?.id;
  if (id === undefined || traceState.peek()?.state === "tracing") return;
  await settle(id, api.startTrace(id));
  if (traceFacts.peek() && run.peek()?.id === id) goToStep(0);
}

/** Trace the search of a run that has ended, and show the step at which so many states are expanded. */
async function replayFrom(id: string, states: number): Promise<void> {
  await traceSearch();
  const known = traceFacts.peek();
  if (!known) return;
  let [low, high] = [0, chunkOf(known, Math.max(0, known.steps - 1))];
  try {
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((await api.traceChunk(id, middle)).start.taken < states) low = middle;
      else high = middle - 1;
    }
    const step = stepWith(await api.traceChunk(id, low), states);
    if (run.peek()?.id === id) goToStep(step);
  } catch (error) {
    lost(error);
  }
}

/** Stop tracing, or remove the trace. */
export async function dropTrace(): Promise<void> {
  const id = run.peek()?.id;
  if (id === undefined) return;
  pause();
  try {
    await api.dropTrace(id);
    if (overlay.peek() === "search") overlay.value = "target";
    await settle(id, api.trace(id));
  } catch (error) {
    traceError.value = asApiError(error);
  }
}

/** Fetch the chunk of a step and those around it, and show the step's frame as soon as it is there. */
function show(at: number): void {
  const known = traceFacts.peek();
  if (!known || !store) return;
  const last = chunkOf(known, Math.max(0, known.steps - 1));
  const own = chunkOf(known, at);
  store.want([own, own + 1, own - 1, own + 2].filter((number) => number >= 0 && number <= last));
  const chunk = store.get(own);
  const next = chunk && frameAt(known, chunk, at);
  if (next) lastFrame.value = next;
}

/** The frame of a step near the shown one; undefined where its chunk is not in memory. */
export function frameNear(at: number): ReplayFrame | undefined {
  void arrivals.value;
  const known = traceFacts.peek();
  const chunk = known && store?.get(chunkOf(known, at));
  return known && chunk ? frameAt(known, chunk, at) : undefined;
}

/** Stop playing and show a step. */
export function goToStep(at: number): void {
  const known = traceFacts.peek();
  if (!known) return;
  pause();
  if (traceError.peek()) store?.forgive();
  traceError.value = null;
  setStep(at, known);
}

/** Show the step that an address names, as soon as there is a trace. */
export function showStep(at: number): void {
  pause();
  const known = traceFacts.peek();
  replayStep.value = known ? Math.min(at, Math.max(0, known.steps - 1)) : at;
}

/** Go one step on or back. */
export function stepBy(by: 1 | -1): void {
  goToStep(replayStep.peek() + by);
}

function setStep(at: number, known: TraceFacts): void {
  batch(() => {
    replayStep.value = Math.max(0, Math.min(known.steps - 1, at));
    overlay.value = "search";
  });
}

/** Play, or pause; a search that is not traced yet is traced first. */
export function playOrPause(): void {
  if (isPlaying.peek()) pause();
  else if (traceFacts.peek()) play();
  else if (replayable.peek() && !isReport) void traceSearch();
}

let playing: ((nowMs: number) => boolean) | undefined;

export function pause(): void {
  if (playing) cancelFrame(playing);
  playing = undefined;
  isPlaying.value = false;
}

function play(): void {
  const known = traceFacts.peek();
  if (!known) return;
  pause();
  if (replayStep.peek() >= known.steps - 1) setStep(0, known);
  const prefersReducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let anchor: { ms: number; step: number; speed: number } | undefined;
  const job = (nowMs: number): boolean => {
    if (!anchor || anchor.speed !== speed.peek() || isLoadingStep.peek()) anchor = { ms: nowMs, step: replayStep.peek(), speed: speed.peek() };
    const next = stepAfter(anchor.step, (nowMs - anchor.ms) / 1000, anchor.speed, prefersReducedMotion);
    if (next !== replayStep.peek() && !isLoadingStep.peek()) setStep(next, known);
    if (replayStep.peek() < known.steps - 1) return true;
    pause();
    return false;
  };
  playing = job;
  isPlaying.value = true;
  requestFrame(job);
}

/** The step after some seconds of playing; with reduced motion it changes once a second. */
export function stepAfter(from: number, seconds: number, perSecond: number, prefersReducedMotion: boolean): number {
  const passed = prefersReducedMotion ? Math.floor(seconds / REDUCED_MOTION_S) * REDUCED_MOTION_S : seconds;
  return from + Math.floor(passed * perSecond);
}
