// The strip on the left, which shows the whole model at once: the minimap and the scroll bar of the graph.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { cancelFrame, requestFrame } from "../../base/frame_scheduler";
import type { GraphJson } from "../../data/protocol";
import { drawLines, frameOf, lengthsOf, lineHeight, seenNodes } from "../../graph/canvas/strip";
import type { Theme } from "../../graph/canvas/theme";
import { centred, seen } from "../../graph/scene/camera";
import { holderOf } from "../../graph/scene/scene";
import { hatchedNodes, nodeColours, theme } from "../../state/graph/painting";
import { camera, setCamera, pan, screenSize } from "../../state/graph/view";
import { unfoldTo } from "../../state/model/folding";
import { model } from "../../state/model/model";
import { marked } from "../../state/replay/overlay";
import { outlined, selectedNodes } from "../../state/selection/selected";
import { hovered, selection } from "../../state/selection/selection";

export function Strip(): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => (canvas.current ? startStrip(canvas.current) : undefined), []);
  return (
    <nav class="strip" aria-label="Model">
    <div
      class="strip-track"
      role="scrollbar"
      tabIndex={0}
      aria-label="Whole model"
      aria-orientation="vertical"
      aria-controls="stage"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, (model.value?.graph.nodes.length ?? 1) - 1)}
      {...position()}
      onPointerDown={(event) => (event.currentTarget.setPointerCapture(event.pointerId), jump(event))}
      onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && jump(event)}
      onPointerUp={() => unfoldShown()}
      onKeyDown={step}
      onWheel={(event) => (event.preventDefault(), pan(0, -event.deltaY))}
    >
      <canvas ref={canvas} aria-hidden="true" />
      <Frame />
    </div>
    </nav>
  );
}

/** The position of the scroll bar, for screen readers. */
function position(): { "aria-valuenow": number; "aria-valuetext": string } {
  const range = shown();
  return { "aria-valuenow": range?.first ?? 0, "aria-valuetext": range ? `nodes ${range.first} to ${range.last}` : "nothing in view" };
}

/** The frame around the nodes that the graph shows; it moves without drawing the lines again. */
function Frame(): JSX.Element | null {
  const range = shown();
  const count = model.value?.graph.nodes.length ?? 0;
  if (!range) return null;
  const { top, height } = frameOf(range, count, stripHeight.value);
  return <span class="strip-frame" style={{ transform: `translateY(${top}px)`, height: `${height}px` }} />;
}

const stripHeight = signal(0);
const STRIP_PAD = 6;

/** The nodes that the graph shows now. */
function shown(): { first: number; last: number } | undefined {
  const scene = model.value?.scene;
  return scene ? seenNodes(scene, seen(camera.value, screenSize.value)) : undefined;
}

function startStrip(canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d");
  let known: GraphJson | undefined;
  let lengths: Float32Array = new Float32Array();
  const draw = (): boolean => {
    const opened = model.peek();
    const colours = theme.peek();
    if (!context || !opened || !colours) return false;
    if (opened.graph !== known) lengths = lengthsOf(opened.graph);
    known = opened.graph;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    stripHeight.value = height;
    fitPixels(canvas, context, width, height);
    const view = { count: known.nodes.length, colours: nodeColours.peek(), hatched: hatchedNodes.peek(), lengths, marks: marks(colours) };
    drawLines(context, width, height, view);
    return false;
  };
  const stop = effect(() => {
    void [model.value, screenSize.value, nodeColours.value, hatchedNodes.value, theme.value, selection.value, outlined.value, marked.value, hovered.value];
    requestFrame(draw);
  });
  return () => {
    stop();
    cancelFrame(draw);
  };
}

function fitPixels(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D, width: number, height: number): void {
  const ratio = window.devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** The marked nodes, in the colours of their outlines in the graph; the selection is on top. */
function marks({ hit, select }: Theme): ReadonlyMap<number, string> {
  const chosen = selection.peek();
  const selected = chosen.kind === "none" ? hovered.peek() : chosen.kind === "partition" ? selectedNodes.peek() : outlined.peek();
  return new Map([...[...marked.peek()].map((node): [number, string] => [node, hit]), ...[...selected].map((node): [number, string] => [node, select])]);
}

/** The node on which the pointer was pressed, until the pointer moves to another. */
let pressed: number | null = null;

/** Centre the graph on the node at the pointer. */
function jump(event: PointerEvent & { currentTarget: HTMLElement }): void {
  const count = model.peek()?.graph.nodes.length ?? 0;
  const top = event.currentTarget.getBoundingClientRect().top + STRIP_PAD;
  const node = Math.floor((event.clientY - top) / lineHeight(count, stripHeight.peek()));
  pressed = event.type === "pointerdown" || node === pressed ? node : null;
  centre(node);
}

/** After a press without a drag, unfold the groups that hide the node. */
function unfoldShown(): void {
  const node = pressed;
  pressed = null;
  if (node !== null) void unfoldTo(node).then(() => centre(node));
}

function centre(node: number): void {
  const opened = model.peek();
  const box = opened && holderOf(opened.scene, Math.max(0, Math.min(opened.graph.nodes.length - 1, node)));
  if (!box) return;
  setCamera(centred(box, screenSize.peek(), camera.peek().k));
}

const STEP: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };

function step(event: KeyboardEvent): void {
  const by = STEP[event.key];
  const range = shown();
  if (by === undefined || !range) return;
  event.preventDefault();
  event.stopPropagation();
  centre(Math.round((range.first + range.last) / 2) + by);
}
