// The edges of the drawn graph at which tensors go from one partition to another.

import { computed } from "@preact/signals";
import { crossings as found, type Crossing } from "../../data/plan/crossings";
import type { Edge } from "../../graph/boxes/build";
import { overlay } from "../display";
import { model } from "../model/model";
import { partitionOf, run } from "../run/run";

const NONE: ReadonlyMap<Edge, Crossing> = new Map();

/** The drawn edges between partitions of the shown plan, with what crosses there. */
export const crossings = computed((): ReadonlyMap<Edge, Crossing> => {
  const scene = model.value?.scene;
  const plan = run.value?.plan;
  if (!scene || !plan) return NONE;
  const { edges, boxes } = scene.graph;
  return found(edges, partitionOf.value, plan, (box) => boxes[box]?.kind === "input" || boxes[box]?.kind === "output");
});

const copies = computed((): ReadonlyMap<Edge, Crossing> => new Map([...crossings.value].filter(([, crossing]) => crossing.isCopied)));

/** Those that are written beside the edges: all of them where the overlay is about costs, else those with a copy. */
export const drawnCrossings = computed(() => (overlay.value === "cost" ? crossings.value : copies.value));
