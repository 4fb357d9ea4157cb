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
      run: (id: string) => (id === "other" ? Promise.resolve({ id, model: "another", model_name: "another" }) : Promise.reject(new Error(`there is no run '${id}'`))),
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

test.each([
  ["gone", "there is no run 'gone'"],
  ["other", 'the run "other" is one of another model: another'],
])("a run that cannot be shown with a model is said, and the model opens: %s", async (run, message) => {
  const { model } = await import("./model");
  const { runError } = await import("../run/run");
  const { openSource } = await import("./open");
  const opening = openSource({ kind: "id", id: "known" }, {}, run);
  answers["known"]?.();
  await opening;
  expect(model.value?.info.id).toBe("known");
  expect(runError.value?.message).toBe(message);
});
