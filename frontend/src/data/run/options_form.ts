// The form for the options of the next run: from typed texts to the options that the server takes, with a mistake for each text that
// is no number, and back. Pure.

import { plain } from "../../base/format";
import type { OptionProblem, RunOptions } from "../protocol";

/** The fields of one target, or of all others; an empty one leaves the option to the toolchain. */
export interface TargetTexts {
  depth: string;
  exits: string;
  fusion: string;
  hasTaps: boolean;
}

export interface Form {
  /** The fields by target; the empty name stands for all other targets. */
  targets: Readonly<Record<string, TargetTexts>>;
  threads: string;
  percentile: string;
  budget: string;
  tune: string;
  timeLimit: string;
  objective: string;
  /** Empty for the default searcher. */
  search: string;
  /** "any" where NaN and infinities count, too; empty for the default, finite values alone. */
  valuePolicy: string;
  measureAll: boolean;
}

export const NOTHING_SAID: TargetTexts = { depth: "", exits: "", fusion: "", hasTaps: false };
export const DEFAULTS: Form = { targets: {}, threads: "", percentile: "", budget: "", tune: "", timeLimit: "", objective: "", search: "", valuePolicy: "", measureAll: false };

export const ALL = "";
export const FUSION = ["none", "tvm", "arbitrary"] as const;
export const SEARCHERS = ["astar", "dijkstra", "milp", "op_dp", "evolutionary", "greedy", "random"] as const;

/** The name of the field beside which a problem is shown. */
export function fieldOf({ option, target }: Pick<OptionProblem, "option" | "target">): string {
  return target === ALL ? option : `${option}:${target}`;
}

export interface Read {
  options: RunOptions;
  /** The mistakes by field. */
  mistakes: ReadonlyMap<string, string>;
}

/** Read the form as options. Fields of targets that are not among `targets` are left out. */
export function readForm(form: Form, targets: readonly string[]): Read {
  const mistakes = new Map<string, string>();
  const number = (text: string, field: string, isWhole: boolean): number | null => {
    if (text.trim() === "") return null;
    const value = Number(text);
    if (Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value))) return value;
    mistakes.set(field, `${text.trim()} is not ${isWhole ? "a whole number" : "a number"}`);
    return null;
  };
  const options: Required<Pick<RunOptions, "max_depth" | "max_exits" | "taps" | "fusion">> = { max_depth: {}, max_exits: {}, taps: [], fusion: {} };
  for (const target of [ALL, ...targets]) {
    const said = form.targets[target] ?? NOTHING_SAID;
    const depth = number(said.depth, fieldOf({ option: "max_depth", target }), true);
    const exits = number(said.exits, fieldOf({ option: "max_exits", target }), true);
    if (depth !== null) options.max_depth[target] = depth;
    if (exits !== null) options.max_exits[target] = exits;
    if (said.hasTaps) options.taps.push(target);
    if (said.fusion !== "" && target !== ALL) options.fusion[target] = said.fusion;
  }
  return {
    mistakes,
    options: {
      ...options,
      threads: number(form.threads, "threads", true),
      percentile: number(form.percentile, "percentile", false),
      budget_s: number(form.budget, "budget_s", false),
      tune_s: number(form.tune, "tune_s", false),
      time_limit_s: number(form.timeLimit, "time_limit_s", false),
      objective: form.objective.trim() || null,
      search: form.search || null,
      value_policy: form.valuePolicy || null,
      measure_all: form.measureAll,
    },
  };
}

/** True if every field is empty, so that all is left to the engine. */
export function isDefault(form: Form): boolean {
  return (
    Object.values(form.targets).every((said) => JSON.stringify(said) === JSON.stringify(NOTHING_SAID)) &&
    JSON.stringify({ ...form, targets: {} }) === JSON.stringify(DEFAULTS)
  );
}

/** The form that reads as these options. */
export function formOf(options: RunOptions): Form {
  const { max_depth = {}, max_exits = {}, taps = [], fusion = {} } = options;
  const names = new Set([...Object.keys(max_depth), ...Object.keys(max_exits), ...taps, ...Object.keys(fusion)]);
  const text = (value: number | null | undefined): string => (value === null || value === undefined ? "" : String(value));
  return {
    targets: Object.fromEntries(
      [...names].map((name) => [name, { depth: text(max_depth[name]), exits: text(max_exits[name]), fusion: fusion[name] ?? "", hasTaps: taps.includes(name) }]),
    ),
    threads: text(options.threads),
    percentile: text(options.percentile),
    budget: text(options.budget_s),
    tune: text(options.tune_s),
    timeLimit: text(options.time_limit_s),
    objective: options.objective ?? "",
    search: options.search ?? "",
    valuePolicy: options.value_policy ?? "",
    measureAll: options.measure_all ?? false,
  };
}

function inText(value: string | number): string {
  return typeof value === "number" ? plain(value) : value;
}

/** Options in words, such as "threads 2", "max depth 3 for tvm"; empty for the defaults. */
export function optionsInText(options: RunOptions): string[] {
  const each = (word: string, said: Record<string, number | string> | undefined): string[] =>
    Object.entries(said ?? {}).map(([target, value]) => `${word} ${inText(value)}${target === ALL ? "" : ` for ${target}`}`);
  const one = (word: string, value: string | number | boolean | null | undefined): string[] => (value === null || value === undefined || value === false ? [] : [value === true ? word : `${word} ${inText(value)}`]);
  return [
    ...each("max depth", options.max_depth),
    ...each("max outputs", options.max_exits),
    ...(options.taps ?? []).map((target) => (target === ALL ? "taps allowed" : `taps allowed for ${target}`)),
    ...each("fusion", options.fusion),
    ...one("threads", options.threads),
    ...one("accuracy", options.accuracy),
    ...one("values", options.value_policy),
    ...one("percentile", options.percentile),
    ...one("budget (s)", options.budget_s),
    ...one("tune (s)", options.tune_s),
    ...one("time limit (s)", options.time_limit_s),
    ...one("search", options.search),
    ...one("objective", options.objective),
    ...one("everything measured", options.measure_all),
  ];
}

/** The engine's message about an option, with the option's name in place of its flag: the page has no flags. */
export function withoutDashes(message: string): string {
  return message.replace(/--([a-z-]+)/g, (_, word: string) => word.replaceAll("-", " "));
}
