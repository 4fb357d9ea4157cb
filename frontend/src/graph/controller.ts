// Joins the state to the drawing of the graph: what changes asks for a frame, what is clicked becomes a selection.

import { effect } from "@preact/signals";
import { begin } from "../idle";
import type { GraphJson } from "../protocol";
import { cancelFrame, requestFrame } from "../raf";
import { marked, triedIds } from "../search_picture";
import { constraints, lastChange } from "../state/decisions";
import { handles, toggle } from "../state/folding";
import { groupsDrawn } from "../state/group_painting";
import { model } from "../state/model";
import { hulls, nodePaints, pads, paintOf, theme } from "../state/painting";
import { focused, hovered, select, selection, overlay } from "../state/selection";
import { spoken } from "../state/spoken";
import { pointAt } from "../state/tip";
import { camera, openView, pan, screenSize, zoom } from "../state/view";
import { partitions } from "../state/run";
import { seen } from "./camera";
import { CanvasRenderer } from "./canvas_renderer";
import { listen } from "./gestures";
import type { Handle } from "./handles";
import { hullAt } from "./hulls";
import { isNear } from "./lod";
import { NearLayer } from "./near_layer";
import type { Frame, Renderer } from "./renderer";
import { holderOf, touches, type Rect, type Scene } from "./scene";
import type { Theme } from "./theme";

const NONE: ReadonlySet<never> = new Set<never>();
const PARTITION_SCALE = 0.14;

export class GraphController {
  private readonly renderer: Renderer;
  private readonly near: NearLayer;
  private readonly stops: (() => void)[];
  private opened: GraphJson | undefined;
  private shown: Scene | undefined;
  private wantsFocus: number | undefined;
  private hoverTarget = "";
  private drawn: Scene | undefined;

  constructor(
    private readonly host: HTMLElement,
    canvas: HTMLCanvasElement,
    svg: SVGSVGElement,
  ) {
    this.renderer = new CanvasRenderer(canvas);
    this.near = new NearLayer(svg);
    const observer = new ResizeObserver(() => this.resized());
    observer.observe(host);
    this.stops = [
      () => observer.disconnect(),
      listen(host, { pan, zoom, click: (x, y, element) => this.clicked(x, y, element), hover: (x, y) => this.pointed(x, y), leave: () => pointAt(undefined, 0, 0) }),
      effect(() => this.watch()),
      () => pointAt(undefined, 0, 0),
    ];
    this.resized();
  }

  stop(): void {
    for (const stop of this.stops) stop();
    cancelFrame(this.draw);
  }

  /** Move the keyboard's focus to the selected box, or what stands for it, as soon as it is near. */
  focus(box: number): void {
    const scene = model.peek()?.scene;
    this.wantsFocus = scene && holderOf(scene, box)?.box.id;
    requestFrame(this.draw);
  }

  private resized(): void {
    const size = { width: this.host.clientWidth, height: this.host.clientHeight };
    this.renderer.resize(size, window.devicePixelRatio);
    screenSize.value = size;
    requestFrame(this.draw);
  }

  /** Everything that a frame shows is read here, so that a change of it asks for a frame. */
  private watch(): void {
    void [camera.value, theme.value, hulls.value, nodePaints.value, selection.value, focused.value, hovered.value, marked.value, triedIds.value];
    void [overlay.value, lastChange.value, partitions.value, constraints.value];
    void groupsDrawn.value;
    const scene = model.value?.scene;
    if (scene !== this.shown) this.near.clear();
    this.shown = scene;
    if (model.value?.graph !== this.opened && screenSize.value.width > 0) {
      this.opened = model.value?.graph;
      openView();
    }
    requestFrame(this.draw);
  }

  private readonly draw = (): boolean => {
    const scene = model.peek()?.scene;
    const colours = theme.peek();
    if (!scene || !colours) return false;
    const chosen = selection.peek();
    const box = chosen.kind === "box" ? holderOf(scene, chosen.box)?.box.id : undefined;
    this.renderer.draw(frameOf(scene, colours, box));
    const area = seen(camera.peek(), screenSize.peek());
    const visible = scene.boxesIn(area);
    const isClose = isNear(camera.peek().k, visible.length);
    this.near.update(isClose ? visible : [], camera.peek(), box, spoken, nodePaints.peek());
    this.near.updateHandles(isClose ? this.handlesIn(area) : []);
    this.told(scene);
    if (this.wantsFocus !== undefined && (this.wantsFocus !== box || this.near.focus(this.wantsFocus))) this.wantsFocus = undefined;
    return false;
  };

  /** A mark on the browser's timeline where a model is first drawn: from here a person sees nodes. */
  private told(scene: Scene): void {
    if (scene !== this.drawn) performance.mark("nodes drawn");
    this.drawn = scene;
  }

  private graphPoint(sx: number, sy: number): { x: number; y: number } {
    const { x, y, k } = camera.peek();
    return { x: x + sx / k, y: y + sy / k };
  }

  private handlesIn(area: Rect): Handle[] {
    return handles.peek().filter((handle) => touches(handle.rect, area));
  }

  private boxAt(sx: number, sy: number): number | undefined {
    const point = { ...this.graphPoint(sx, sy), width: 0, height: 0 };
    return model.peek()?.scene.boxesIn(point)[0]?.box.id;
  }

  private clicked(sx: number, sy: number, element: Element | null): void {
    const handle = handles.peek().find((one) => one.group.id === element?.getAttribute("data-group"));
    if (handle) {
      void toggle(handle.group).then(() => focusBox(handle.group.nodes[0] ?? 0));
      return;
    }
    const id = Number(element?.getAttribute("data-id") ?? NaN);
    const box = Number.isInteger(id) ? id : camera.peek().k >= PARTITION_SCALE ? this.boxAt(sx, sy) : undefined;
    if (box !== undefined) {
      select({ kind: "box", box: model.peek()?.scene.graph.groupAt.get(box)?.nodes[0] ?? box });
      return;
    }
    const { x, y } = this.graphPoint(sx, sy);
    const hull = hullAt(hulls.peek(), x, y);
    const isShown = hull && partitions.peek().includes(hull.partition);
    const first = hull?.partition.nodes[0];
    if (first !== undefined && !isShown) select({ kind: "box", box: first });
    else select(hull ? { kind: "partition", id: hull.partition.id } : { kind: "none" });
  }

  /** The cursor says what a click would take; the node at the pointer is spoken of. */
  private pointed(sx: number, sy: number): void {
    const { x, y } = this.graphPoint(sx, sy);
    const box = this.boxAt(sx, sy);
    pointAt(box, sx, sy);
    const next = box !== undefined || hullAt(hulls.peek(), x, y) ? "pointer" : "grab";
    if (next === this.hoverTarget) return;
    this.hoverTarget = next;
    this.host.style.cursor = next;
  }
}

/** All that is drawn now; `selected` is the selected box, or what stands for it. */
function frameOf(scene: Scene, colours: Theme, selected: number | undefined): Frame {
  const chosen = selection.peek();
  return {
    scene,
    camera: camera.peek(),
    theme: colours,
    hulls: hulls.peek(),
    paint: paintOf,
    groups: groupsDrawn.peek(),
    pads: pads.peek(),
    selected: selected === undefined ? NONE : new Set(focused.peek()?.nodes ?? [selected]),
    hits: marked.peek(),
    hovered: hovered.peek(),
    selectedPartition: chosen.kind === "partition" ? chosen.id : undefined,
    changed: overlay.peek() === "search" ? triedIds.peek() : (lastChange.peek()?.changed ?? NONE),
  };
}

let current: GraphController | undefined;

/** Draw into these elements until `stop` is called. */
export function startGraph(host: HTMLElement, canvas: HTMLCanvasElement, svg: SVGSVGElement): () => void {
  const end = begin("graph");
  const controller = new GraphController(host, canvas, svg);
  current = controller;
  end();
  return () => {
    controller.stop();
    if (current === controller) current = undefined;
  };
}

/** Move the keyboard's focus to a box of the graph. */
export function focusBox(box: number): void {
  current?.focus(box);
}
