import { beforeEach, expect, test, vi } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import * as download from "../download";
import { chooseForm, chosenForm, exportRun, FORMS, formText, measurePlanAgain } from "./export";
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

test("an artifact that is there is downloaded as it is, unless a form was chosen", async () => {
  await exportRun();
  expect(made).not.toHaveBeenCalled();
  expect(saved).toHaveBeenCalledTimes(1);
  chooseForm("native");
  await exportRun();
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
  chooseForm("native");
  await exportRun();
  expect(runError.value).toMatchObject(error);
  expect(saved).not.toHaveBeenCalled();
  expect(keptRun.value?.artifact).toBe(true);
});

test("a form says what it needs, or why the plan cannot have it, and auto says which it is", () => {
  const reason = "its plan has 2 partitions, and native files are of one toolchain for all";
  const texts = FORMS.map((one) => formText(one, { native: reason }));
  expect(texts[0]).toMatch(/, here pieces$/);
  expect(texts[1]).toBe(`not of this plan, since ${reason}`);
  expect(texts[2]).toBe("collage-runtime");
  expect(formText({ form: "auto", needs: "little" }, {})).toBe("little, here native");
  expect(formText({ form: "auto", needs: "little" }, { native: "a", pieces: "b" })).toBe("little, here module");
});
