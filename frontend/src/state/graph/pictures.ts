// Saves the graph as it is painted now, as SVG, as PNG, or in the DOT language of Graphviz.

import { signal } from "@preact/signals";
import { mix } from "../../base/colour";
import { during } from "../../base/idle";
import { printable } from "../../base/printable";
import { api, asApiError } from "../../data/api";
import { timeText } from "../../data/plan/basis";
import type { Caption, PictureFrame } from "../../graph/canvas/picture";
import { overlay } from "../display";
import { saveBlob, saveText } from "../download";
import { styleOf } from "../model/catalogue";
import { model } from "../model/model";
import { run, runError } from "../run/run";
import { badgeOf } from "./badges";
import { drawnCrossings } from "./crossings";
import { groupsDrawn } from "./group_painting";
import { boxPaints, drawnPartitions, hulls, nodePaints, pads, paintOf, theme } from "./painting";

export type PictureKind = "svg" | "png" | "dot";

/** True if a picture is being made. */
const isTaking = signal(false);

/** Save the whole graph with the present overlay. */
export async function takePicture(kind: PictureKind): Promise<void> {
  const opened = model.peek();
  if (!opened || isTaking.peek()) return;
  isTaking.value = true;
  const name = `${opened.info.name}-${overlay.peek()}.${kind}`;
  try {
    if (kind === "dot") saveText(name, "text/vnd.graphviz", await dot(opened.info.id));
    else await during("picture", draw(kind, name));
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    isTaking.value = false;
  }
}

async function draw(kind: "svg" | "png", name: string): Promise<void> {
  const [scene, colours] = [model.peek()?.scene, theme.peek()];
  if (!scene || !colours) return;
  const { svgPicture, pngPicture } = await import("../../graph/canvas/picture");
  const frame: PictureFrame = { scene, theme: colours, hulls: hulls.peek(), paint: paintOf, boxes: boxPaints.peek(), pads: pads.peek(), groups: groupsDrawn.peek(), crossings: drawnCrossings.peek() };
  if (kind === "svg") saveText(name, "image/svg+xml", svgPicture(frame, caption()));
  else saveBlob(name, await pngPicture(frame, caption()));
}

function caption(): Caption {
  const targets = [...new Set(drawnPartitions.peek().map((partition) => partition.target))].sort();
  return { text: title(), keys: targets.map((name) => ({ name, letter: styleOf(name).letter, colour: styleOf(name).strong })) };
}

function title(): string {
  const total = run.peek()?.plan?.total_s;
  return [printable(model.peek()?.info.name ?? ""), total === undefined ? "" : timeText("predicted", total), total === undefined ? "" : `by ${overlay.peek()}`].filter(Boolean).join(" · ");
}

async function dot(id: string): Promise<string> {
  const clusters = drawnPartitions.peek().map((partition) => ({ label: badgeOf(partition), colour: hex(styleOf(partition.target).strong), nodes: partition.nodes }));
  const fills = nodePaints.peek().map((paint) => (paint ? hex(paint.fill) : null));
  return api.dot(id, { title: title().slice(0, 200), fills, clusters });
}

/** A colour as `#rrggbb`. */
function hex(colour: string): string {
  const channels = mix(colour, "#ffffff", 1).match(/\d+/g) ?? [];
  return `#${channels.map((value) => Number(value).toString(16).padStart(2, "0")).join("")}`;
}

