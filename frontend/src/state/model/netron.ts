// The model that Netron shows in the drawer: the original, the partitioned model, or one partition; and the selection, which is the
// same in Netron and on the page.

import { computed, signal } from "@preact/signals";
import { api, type OnnxFile } from "../../data/api";
import { config } from "../../data/config";
import type { Picked } from "../../data/netron/frame";
import { nodeOf } from "../../data/netron/match";
import { keptRun } from "../run/run";
import { goToBox } from "../selection/navigation";
import { selectedNodes } from "../selection/selected";
import { model } from "./model";

export type NetronChoice = { kind: "original" } | { kind: "partitioned" } | { kind: "partition"; id: string };

/** The partitions of the kept plan; the plan of a what-if has no files. */
export const keptPartitions = computed(() => keptRun.value?.plan?.partitions ?? []);

/** The chosen model; null for the partitioned model, where there is one. */
const asked = signal<NetronChoice | null>(null);

/** The shown model: the chosen one, as long as the plan has it. */
export const netronChoice = computed((): NetronChoice => {
  const wanted = asked.value;
  if (wanted?.kind === "original" || keptPartitions.value.length === 0) return { kind: "original" };
  return wanted?.kind === "partition" && keptPartitions.value.some((one) => one.id === wanted.id) ? wanted : { kind: "partitioned" };
});

export function showInNetron(choice: NetronChoice): void {
  asked.value = choice;
}

/** Netron draws all nodes at once, in the thread of the page: more than this many would block the page for long. */
export const NETRON_NODES = 2500;

export interface NetronModel {
  /** Identifies the file. */
  key: string;
  name: string;
  nodes: number;
  /** Its address, relative to Netron's own page. */
  address: string;
  load: () => Promise<OnnxFile>;
}

/** The file of the shown model; null where no model is open. */
export const netronModel = computed((): NetronModel | null => {
  const [opened, current, choice] = [model.value, keptRun.value, netronChoice.value];
  if (!opened) return null;
  const { id, name, nodes, folded } = opened.info;
  if (choice.kind === "original" || !current) {
    return made(`models/${id}`, `${name}.onnx`, nodes + folded, () => api.originalOnnx(id));
  }
  if (choice.kind === "partitioned") return made(`runs/${current.id}`, `${name}-partitioned.onnx`, nodes, () => api.partitionedOnnx(current.id));
  const index = keptPartitions.value.findIndex((one) => one.id === choice.id);
  const size = keptPartitions.value[index]?.nodes.length ?? 0;
  return made(`runs/${current.id}/partitions/${choice.id}`, `${name}-partition-${index + 1}.onnx`, size, () => api.partitionOnnx(current.id, choice.id));
});

function made(path: string, name: string, nodes: number, load: () => Promise<OnnxFile>): NetronModel {
  return { key: path, name, nodes, address: `../api/v1/${path}/onnx`, load };
}

/** The address of Netron's own page. */
export const netronAddress = `${config.prefix}/netron/`;

export function netronLink({ address, name }: NetronModel): string {
  return `${netronAddress}?${new URLSearchParams({ url: address, identifier: name }).toString()}`;
}

/** The tensors that the selected nodes make; these identify a node in every form of the model. */
export const selectedTensors = computed((): ReadonlySet<string> => {
  const nodes = model.value?.graph.nodes ?? [];
  return new Set(selectedNodes.value.flatMap((id) => nodes[id]?.outputs.map((output) => output.name) ?? []));
});

/** Select on the page the node that was selected in Netron. */
export function selectPicked(picked: Picked): void {
  const opened = model.peek();
  const node = opened ? nodeOf(picked, opened.graph.nodes, opened.folded) : undefined;
  if (node !== undefined) goToBox(node);
}
