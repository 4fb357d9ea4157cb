// The open model: its facts, its graph, its fold and its scene.

import { computed, signal } from "@preact/signals";
import type { FormalInputs } from "../../data/model/formal_inputs";
import type { PageError, Shapes, Values } from "../../data/api";
import type { FoldedInfo, GraphJson, ModelGroups, ModelInfo, ScopeLink } from "../../data/protocol";
import type { BuiltGraph } from "../../graph/boxes/build";
import type { Fold } from "../../graph/boxes/groups";
import type { GroupFrame } from "../../graph/scene/handles";
import type { Scene } from "../../graph/scene/scene";

export interface ShownFile {
  /** Empty for the model's own graph; else that of a body or a function. */
  scope: string;
  /** The graphs around it, from the model's own on, and itself. */
  path: readonly ScopeLink[];
  /** Input, output or weight → the text of the file about it. */
  docs: Readonly<Record<string, string>>;
}

export interface OpenedModel {
  info: ModelInfo;
  graph: GraphJson;
  folded: FoldedInfo[];
  formal: FormalInputs;
  /** All boxes and edges, whether a folded group hides them or not. */
  built: BuiltGraph;
  groups: ModelGroups;
  fold: Fold;
  scene: Scene;
  /** The frames around the unfolded groups. */
  frames: readonly GroupFrame[];
  /** The graph of the model's file that is shown; null where the graph is that of the model as it is planned. */
  file: ShownFile | null;
}

/**
 * The source of a model, kept so that opening it can be tried again with shapes. `values` are of inputs that are to be constants, and
 * `region` is that of a Relax module; of a model that was opened before it stays unless given, and an empty one asks for it.
 */
export type Source =
  | { kind: "sample"; name: string; values?: Values }
  | { kind: "files"; files: readonly File[]; values?: Values; region?: string; trust?: boolean }
  | { kind: "path"; path: string; values?: Values; region?: string; trust?: boolean }
  | { kind: "session"; file: File }
  | { kind: "id"; id: string }
  | { kind: "again"; id: string; values?: Values; region?: string; trust?: boolean };

export type ModelState =
  | { kind: "empty" }
  | { kind: "loading"; what: string }
  | { kind: "failed"; error: PageError; source: Source; shapes: Shapes }
  | { kind: "ready"; model: OpenedModel };

export const modelState = signal<ModelState>({ kind: "empty" });
export const model = computed(() => (modelState.value.kind === "ready" ? modelState.value.model : null));

/** True if a node of the open model has one of these names: of two nodes that share a name, it means that of the model, not that in a body. */
export function hasNodeNamed(names: readonly string[]): boolean {
  return model.peek()?.graph.nodes.some(({ name }) => names.includes(name)) ?? false;
}

/** The names of nodes of the open model. */
export function namesOf(nodes: readonly number[]): string[] {
  return nodes.flatMap((node) => model.peek()?.graph.nodes[node]?.name ?? []);
}
