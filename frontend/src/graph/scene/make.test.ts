import { beforeEach, expect, test, vi } from "vitest";
import { transformer } from "../../../test/graphs";
import { builtOf, plainMeasurer, sceneOf } from "../../../test/layouts";
import { partition } from "../../../test/runs";
import { NO_GROUPS } from "../boxes/groups";
import { layout, type LayoutRequest } from "../layout/core";
import type { MadeScene } from "./make";

const json = transformer(12);
const built = builtOf(json);
const PLAN = [partition("tvm", [0, 1])];

let pauses = 0;

beforeEach(() => {
  pauses = 0;
  vi.resetModules();
  vi.doMock("../layout/cache", () => ({ findLayout: (_: string, request: LayoutRequest) => Promise.resolve(layout(request)) }));
  vi.doMock("../layout/measure", async (original) => ({ ...(await original<object>()), textWidth: plainMeasurer }));
  vi.doMock("../../base/frame_scheduler", () => ({
    cancelFrame: () => undefined,
    requestFrame: (job: () => void) => {
      pauses += 1;
      queueMicrotask(job);
    },
  }));
});

async function make(): Promise<MadeScene> {
  const { makeScene } = await import("./make");
  return makeScene("m", json, built, NO_GROUPS, new Set(), PLAN, { room: { width: 0, height: 0 }, columns: "auto" });
}

test("a scene that is made over many frames equals the one that is made at once", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 20));
  const { scene, frames } = await make();
  vi.restoreAllMocks();
  expect(pauses).toBeGreaterThan(5);
  expect(frames).toEqual([]);
  const atOnce = sceneOf(json);
  expect(scene.drawn).toEqual(atOnce.drawn);
  expect(scene.edges).toEqual(atOnce.edges);
  expect(scene.bounds).toEqual(atOnce.bounds);
});

test("of two scenes that are made at the same time the newer one is drawn, however far the older one is", async () => {
  const older = make().catch((error: Error) => error.constructor.name);
  const newer = make();
  expect(await older).toBe("Superseded");
  expect((await newer).scene.drawn.length).toBe(built.order.length);
});
