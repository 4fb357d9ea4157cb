// Connects the state and the drawing of the graph: a change of the state requests a frame, and gestures change the state.

import { effect } from "@preact/signals";
import { cancelFrame, requestFrame } from "../../base/frame_scheduler";
import { type Rect, type Size, touches } from "../../base/geometry";
import { begin } from "../../base/idle";
import type { GraphJson, PlanPartition } from "../../data/protocol";
import type { Edge } from "../../graph/boxes/build";
import { showsElements } from "../../graph/canvas/detail";
import type { Frame, Renderer } from "../../graph/canvas/frame";
import { CanvasRenderer } from "../../graph/canvas/renderer";
import type { Theme } from "../../graph/canvas/theme";
import { seen, type Camera } from "../../graph/scene/camera";
import { edgeAt } from "../../graph/scene/edge_at";
import type { Handle } from "../../graph/scene/handles";
import { hullAt } from "../../graph/scene/hulls";
import { holderOf, type Scene } from "../../graph/scene/scene";
import { overlay } from "../../state/display";
import { ariaText } from "../../state/graph/aria_text";
import { band, endBand } from "../../state/graph/band";
import { crossings, drawnCrossings } from "../../state/graph/crossings";
import { focusWanted } from "../../state/graph/focus";
import { groupsDrawn } from "../../state/graph/group_painting";
import { boxPaints, hulls, nodePaints, pads, paintOf, theme } from "../../state/graph/painting";
import { pointAt } from "../../state/graph/tip";
import { camera, keepWhole, prefersReducedMotion, openView, pan, screenSize, zoom } from "../../state/graph/view";
import { openMenuAt, type Pointed } from "../../state/menu/decide_menu";
import { groupOfNodes, handles } from "../../state/model/folding";
import { hasBodies, openBody } from "../../state/model/file_view";
import { model } from "../../state/model/model";
import { constraints, lastChange } from "../../state/plan/decisions";
import { marked, triedIds } from "../../state/replay/overlay";
import { partitions } from "../../state/run/run";
import { toggleGroup } from "../../state/selection/navigation";
import { outlined, selectedNodes, toggleNodes } from "../../state/selection/selected";
import { hovered, select, selection, selectionOf } from "../../state/selection/selection";
import { insideOf } from "../../state/tables/inside";
import { ElementLayer } from "./element_layer";
import { listenToGestures } from "./gestures";

const NONE: ReadonlySet<never> = new Set<never>();
const PARTITION_SCALE = 0.14;
const EDGE_SLACK_PX = 5;
const FADE_MS = 180;

class GraphController {
  private readonly renderer: Renderer;
  private readonly elements: ElementLayer;
  private readonly stops: (() => void)[];
  private opened: GraphJson | undefined;
  private shown: Scene | undefined;
  private hoverTarget = "";
  private drawn: Scene | undefined;
  private fade = 0;
  private fadeStartMs = 0;
  private fadesFrom: Camera | undefined;

  constructor(
    private readonly host: HTMLElement,
    canvas: HTMLCanvasElement,
    svg: SVGSVGElement,
  ) {
    this.renderer = new CanvasRenderer(canvas);
    this.elements = new ElementLayer(svg);
    const observer = new ResizeObserver(() => this.resized());
    observer.observe(host);
    this.stops = [
      () => observer.disconnect(),
      listenToGestures(host, {
        pan,
        zoom,
        click: (x, y, element, isAdding) => this.clicked(x, y, element, isAdding),
        band: (from, to, isOver) => (isOver ? endBand(from, to) : void (band.value = [from, to])),
        menu: (x, y, element) => this.openMenu(x, y, element),
        hover: (x, y) => this.pointed(x, y),
        leave: () => pointAt(undefined, 0, 0),
      }),
      effect(() => this.watch()),
      () => pointAt(undefined, 0, 0),
    ];
    this.resized();
  }

  stop(): void {
    for (const stop of this.stops) stop();
    cancelFrame(this.draw);
    cancelFrame(this.fadeOn);
  }

  private resized(): void {
    const size: Size = { width: this.host.clientWidth, height: this.host.clientHeight };
    this.renderer.resize(size, window.devicePixelRatio);
    screenSize.value = size;
    keepWhole();
    requestFrame(this.draw);
  }

  /** Read everything that a frame shows, so that a change of it requests a frame. */
  private watch(): void {
    void [camera.value, theme.value, hulls.value, nodePaints.value, selection.value, outlined.value, hovered.value, marked.value, triedIds.value];
    void [overlay.value, lastChange.value, partitions.value, constraints.value, insideOf.value];
    void [groupsDrawn.value, focusWanted.value, drawnCrossings.value];
    const scene = model.value?.scene;
    if (scene !== this.shown) {
      this.elements.clear();
      if (this.shown && model.value?.graph === this.opened) this.startFade();
    }
    this.shown = scene;
    if (model.value?.graph !== this.opened && screenSize.value.width > 0) {
      this.opened = model.value?.graph;
      openView();
    }
    requestFrame(this.draw);
  }

  /** Fade from the present picture to the next. */
  private startFade(): void {
    if (prefersReducedMotion()) return;
    this.renderer.keep();
    this.fadesFrom = camera.peek();
    this.fade = 1;
    requestFrame(this.fadeOn);
  }

  /** Fade on. A moved camera ends the fade, since the kept picture would not move. */
  private readonly fadeOn = (nowMs: number): boolean => {
    if (this.fade === 1) this.fadeStartMs = nowMs;
    const rest = 1 - (nowMs - this.fadeStartMs) / FADE_MS;
    this.fade = camera.peek() === this.fadesFrom ? Math.min(0.999, Math.max(0, rest)) : 0;
    requestFrame(this.draw);
    return this.fade > 0;
  };

  private readonly draw = (): boolean => {
    const scene = model.peek()?.scene;
    const colours = theme.peek();
    if (!scene || !colours) return false;
    const boxes = selectedBoxes(scene);
    this.renderer.draw(frameOf(scene, colours, this.fade));
    const area = seen(camera.peek(), screenSize.peek());
    const visible = scene.boxesIn(area);
    const isClose = showsElements(camera.peek().k, visible.length);
    this.elements.update(isClose ? visible : [], camera.peek(), boxes, ariaText, nodePaints.peek());
    this.elements.updateHandles(isClose ? this.handlesIn(area) : []);
    this.markDrawn(scene);
    this.giveFocus(scene, boxes);
    return false;
  };

  /** Focus the box that is to get the keyboard's focus as soon as it has an element; forget it where it is no longer selected. */
  private giveFocus(scene: Scene, selected: ReadonlySet<number>): void {
    const wanted = focusWanted.peek();
    const id = wanted === null ? undefined : holderOf(scene, wanted)?.box.id;
    if (wanted === null || (id !== undefined && selected.has(id) && !this.elements.focus(id))) return;
    focusWanted.value = null;
  }

  /** Mark on the browser's timeline when a scene is first drawn, so that nodes are visible. */
  private markDrawn(scene: Scene): void {
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

  /** The thing at a point of the screen: a box or a folded group; else, when zoomed in, an edge; else a hull. */
  private thingAt(sx: number, sy: number, element: Element | null): Pointed {
    const id = Number(element?.getAttribute("data-id") ?? NaN);
    const { k } = camera.peek();
    const box = Number.isInteger(id) ? id : k >= PARTITION_SCALE ? this.boxAt(sx, sy) : undefined;
    const scene = model.peek()?.scene;
    const group = scene?.graph.groupAt.get(box ?? -1);
    if (group) return { kind: "group", nodes: group.nodes };
    if (box !== undefined) return { kind: "box", box };
    const { x, y } = this.graphPoint(sx, sy);
    const edge = scene && k >= PARTITION_SCALE ? edgeAt(scene, x, y, EDGE_SLACK_PX / k) : undefined;
    if (edge) return { kind: "edge", edge };
    const hull = hullAt(hulls.peek(), x, y);
    return hull ? { kind: "partition", partition: hull.partition } : { kind: "nothing" };
  }

  private openMenu(sx: number, sy: number, element: Element | null): void {
    const { left, top } = this.host.getBoundingClientRect();
    openMenuAt(this.thingAt(sx, sy, element), { x: left + sx, y: top + sy });
  }

  private clicked(sx: number, sy: number, element: Element | null, isAdding: boolean): void {
    const handle = handles.peek().find((one) => one.group.id === element?.getAttribute("data-group"));
    if (handle) {
      toggleGroup(handle.group);
      return;
    }
    const thing = this.thingAt(sx, sy, element);
    if (isAdding) toggleNodes(this.nodesOf(thing, sx, sy));
    else if (thing.kind === "group") this.clickedGroup(thing.nodes);
    else if (thing.kind === "box") this.clickedBox(thing.box);
    else this.clickedHull(this.hullAt(sx, sy));
  }

  /** Select a folded group; unfold it where it is selected already. */
  private clickedGroup(nodes: readonly number[]): void {
    const group = groupOfNodes(nodes);
    if (group && groupOfNodes(selectedNodes.peek()) === group) toggleGroup(group);
    else select(selectionOf(nodes));
  }

  /** Select a box; open the graph in it where it is selected already. */
  private clickedBox(box: number): void {
    const chosen = selection.peek();
    const node = model.peek()?.graph.nodes[box];
    if (node && chosen.kind === "box" && chosen.box === box && hasBodies(node)) void openBody(node);
    else select({ kind: "box", box });
  }

  private clickedHull(hull: PlanPartition | undefined): void {
    const isShown = hull !== undefined && partitions.peek().includes(hull);
    if (hull && !isShown) select({ kind: "box", box: hull.nodes[0] ?? 0 });
    else select(hull ? { kind: "partition", id: hull.id } : { kind: "none" });
  }

  private nodesOf(thing: Pointed, sx: number, sy: number): readonly number[] {
    if (thing.kind === "group") return thing.nodes;
    const isNode = thing.kind === "box" && thing.box < (model.peek()?.graph.nodes.length ?? 0);
    return thing.kind === "box" ? (isNode ? [thing.box] : []) : (this.hullAt(sx, sy)?.nodes ?? []);
  }

  private hullAt(sx: number, sy: number): PlanPartition | undefined {
    const { x, y } = this.graphPoint(sx, sy);
    return hullAt(hulls.peek(), x, y)?.partition;
  }

  /** The edge between two partitions at a point of the graph. */
  private crossingAt(x: number, y: number): Edge | undefined {
    const { k } = camera.peek();
    const scene = model.peek()?.scene;
    const edge = scene && k >= PARTITION_SCALE ? edgeAt(scene, x, y, EDGE_SLACK_PX / k) : undefined;
    return edge && crossings.peek().has(edge) ? edge : undefined;
  }

  /** Set the cursor and the tip for the thing at the pointer. */
  private pointed(sx: number, sy: number): void {
    const { x, y } = this.graphPoint(sx, sy);
    const box = this.boxAt(sx, sy);
    pointAt(box, sx, sy, box === undefined ? this.crossingAt(x, y) : undefined);
    const next = box !== undefined || hullAt(hulls.peek(), x, y) ? "pointer" : "grab";
    if (next === this.hoverTarget) return;
    this.hoverTarget = next;
    this.host.style.cursor = next;
  }
}

/** The frame with everything that is drawn now. */
function frameOf(scene: Scene, colours: Theme, fade: number): Frame {
  const chosen = selection.peek();
  return {
    fade,
    scene,
    camera: camera.peek(),
    theme: colours,
    hulls: hulls.peek(),
    paint: paintOf,
    groups: groupsDrawn.peek(),
    boxes: boxPaints.peek(),
    pads: pads.peek(),
    crossings: drawnCrossings.peek(),
    selected: drawnFor(scene, outlined.peek()),
    hits: marked.peek(),
    hovered: hovered.peek(),
    selectedPartition: chosen.kind === "partition" ? chosen.id : undefined,
    changed: overlay.peek() === "search" ? triedIds.peek() : (lastChange.peek()?.changed ?? NONE),
  };
}

/** The boxes that are drawn for the selected boxes; none for a selected partition. */
function selectedBoxes(scene: Scene): ReadonlySet<number> {
  const chosen = selection.peek();
  return drawnFor(scene, chosen.kind === "box" ? [chosen.box] : chosen.kind === "boxes" ? chosen.boxes : []);
}

/** The boxes that are drawn for some boxes. */
function drawnFor(scene: Scene, boxes: Iterable<number>): ReadonlySet<number> {
  return new Set([...boxes].flatMap((box) => holderOf(scene, box)?.box.id ?? []));
}

/** Draw into these elements, until the function that is returned is called. */
export function startGraph(host: HTMLElement, canvas: HTMLCanvasElement, svg: SVGSVGElement): () => void {
  const end = begin("graph");
  const controller = new GraphController(host, canvas, svg);
  end();
  return () => controller.stop();
}
