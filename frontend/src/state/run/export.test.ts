import { beforeEach, expect, test, vi } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import * as download from "../download";
import { chooseForm, chosenForm, exportAs, firstForm, measurePlanAgain } from "./export";
import { keptRun, runError } from "./run";

vi.mock("socket.io-client", () => ({ io: () => ({ on: () => undefined, emit: () => undefined }) }));

const built = runSnapshot({ id: "built", state: "done", artifact: true });
const made = vi.spyOn(api, "makeArtifact");
const saved = vi.spyOn(download, "save").mockImplementation(() => undefined);

beforeEach(() => {
  vi.clearAllMocks();
  keptRun.value = built;
  runError.value = null;
  made.mockResolvedValue(built);
  vi.spyOn(api, "run").mockResolvedValue(built);
});

test("an artifact that is there is downloaded as it is, another is built first", async () => {
  await exportAs("module", true);
  expect(made).not.toHaveBeenCalled();
  expect(saved).toHaveBeenCalledTimes(1);
  await exportAs("native", false);
  expect(made.mock.calls).toEqual([["built", "native", false]]);
  expect(saved).toHaveBeenCalledTimes(2);
  await measurePlanAgain();
  expect(made.mock.lastCall).toEqual(["built", null, true]);
});

test("a form is chosen for the shown run alone", () => {
  chooseForm("pieces");
  expect(chosenForm.value).toBe("pieces");
  keptRun.value = runSnapshot({ id: "other", state: "done" });
  expect(chosenForm.value).toBeNull();
  keptRun.value = built;
  expect(chosenForm.value).toBe("pieces");
});

test("a form that the plan cannot have is told, and nothing is downloaded", async () => {
  const error = { code: "form", message: "the artifact cannot be native: its plan has 2 partitions", hint: "ask for the form auto" };
  vi.spyOn(api, "run").mockResolvedValue({ ...built, error });
  await exportAs("native", false);
  expect(runError.value).toMatchObject(error);
  expect(saved).not.toHaveBeenCalled();
  expect(keptRun.value?.artifact).toBe(true);
});

test("the first form is the one that needs least where it runs, of those that the plan can have", () => {
  expect(firstForm({})).toBe("native");
  expect(firstForm({ native: "its plan has 2 partitions" })).toBe("pieces");
  expect(firstForm({ native: "a", pieces: "b" })).toBe("module");
});
