import { beforeEach, expect, test, vi } from "vitest";
import { FORMAL, transformer } from "../../../test/graphs";

const graph = transformer(2);
const answers: Record<string, () => void> = {};
const laidOut: string[] = [];

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal("Worker", class {});
  vi.doMock("../../base/frame_scheduler", () => ({ cancelFrame: () => undefined, requestFrame: (job: () => void) => queueMicrotask(job) }));
  vi.doMock("../../graph/scene/make", () => ({
    makeScene: (id: string) => {
      laidOut.push(id);
      return Promise.resolve({ scene: {}, frames: [] });
    },
  }));
  vi.doMock("../../data/api", async (original) => ({
    ...(await original<object>()),
    api: {
      model: (id: string) => new Promise((resolve) => (answers[id] = () => resolve({ id, name: id, sample: null }))),
      graph: (id: string) => Promise.resolve({ id, graph, folded: [], formal: FORMAL }),
      groups: (id: string) => Promise.resolve({ id, repeats: [], scopes: [], sections: [] }),
      models: () => Promise.resolve({ models: [] }),
      samples: () => Promise.resolve({ samples: [] }),
    },
  }));
});

test("of two models that are opened the newer one is shown, and the older one disturbs nothing, however late it comes", async () => {
  const { model } = await import("./model");
  const { openSource } = await import("./open");
  const older = openSource({ kind: "id", id: "older" });
  const newer = openSource({ kind: "id", id: "newer" });
  answers["newer"]?.();
  await newer;
  expect(model.value?.info.id).toBe("newer");
  answers["older"]?.();
  await older;
  expect(model.value?.info.id).toBe("newer");
  expect(laidOut).toEqual(["newer"]);
});
