// DOM elements over the boxes in view, when zoomed in: transparent, with a role, a name and an id, for the keyboard, screen readers and
// tests. The canvas below draws the boxes; of the elements only the ring of the keyboard's focus is visible.

import { printable } from "../../base/printable";
import type { Rect } from "../../base/geometry";
import { CORNER } from "../../graph/canvas/boxes";
import type { Camera } from "../../graph/scene/camera";
import type { Handle } from "../../graph/scene/handles";
import type { PlacedBox } from "../../graph/scene/scene";

const SVG = "http://www.w3.org/2000/svg";

export class ElementLayer {
  private readonly group: SVGGElement;
  private readonly elements = new Map<number, SVGRectElement>();
  private readonly handles = new Map<string, SVGRectElement>();
  private named: unknown;

  constructor(svg: SVGSVGElement) {
    this.group = document.createElementNS(SVG, "g");
    svg.append(this.group);
  }

  /**
   * Have elements for these boxes, and remove all others but one that has the focus. The names are made again where `stamp`, on
   * which they depend, has changed.
   */
  update(boxes: readonly PlacedBox[], camera: Camera, selected: ReadonlySet<number>, nameOf: (box: number) => string, stamp: unknown): void {
    this.group.setAttribute("transform", `scale(${camera.k}) translate(${-camera.x} ${-camera.y})`);
    const wanted = new Set(boxes.map((box) => box.box.id));
    for (const [id, element] of this.elements) {
      if (wanted.has(id) || element === document.activeElement) continue;
      element.remove();
      this.elements.delete(id);
    }
    const entry = [...selected].filter((id) => wanted.has(id)).pop() ?? boxes[0]?.box.id;
    const isRenamed = stamp !== this.named;
    this.named = stamp;
    for (const box of [...boxes].sort((a, b) => a.y - b.y || a.x - b.x)) {
      const known = this.elements.get(box.box.id);
      const element = known ?? this.make(box);
      if (!known || isRenamed) write(element, "aria-label", printable(nameOf(box.box.id)));
      write(element, "aria-pressed", String(selected.has(box.box.id)));
      write(element, "tabindex", box.box.id === entry ? "0" : "-1");
    }
  }

  /** Focus the element of a box; returns false where it has none yet. */
  focus(id: number): boolean {
    const element = this.elements.get(id);
    element?.focus({ preventScroll: true });
    return element !== undefined;
  }

  /** Have elements for these handles, and no others. */
  updateHandles(handles: readonly Handle[]): void {
    const wanted = new Set(handles.map((handle) => handle.group.id));
    for (const [id, element] of this.handles) {
      if (wanted.has(id)) continue;
      element.remove();
      this.handles.delete(id);
    }
    for (const { group, isFolded, rect, title } of handles) {
      if (this.handles.has(group.id)) continue;
      const name = `${isFolded ? "Unfold" : "Fold"} ${title}`;
      const attributes = { "data-group": group.id, "aria-expanded": !isFolded, "aria-label": name, tabindex: -1 };
      this.handles.set(group.id, this.position(rect, attributes));
    }
  }

  clear(): void {
    this.group.replaceChildren();
    this.elements.clear();
    this.handles.clear();
  }

  private make(placed: PlacedBox): SVGRectElement {
    const { id, kind, name } = placed.box;
    const element = this.position(placed, { "data-id": id, "data-name": name, ...(kind === "group" && { "aria-expanded": false }) });
    this.elements.set(id, element);
    return element;
  }

  private position({ x, y, width, height }: Rect, more: Record<string, unknown>): SVGRectElement {
    const element = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ role: "button", x, y, width, height, rx: CORNER, ...more })) element.setAttribute(name, String(value));
    this.group.append(element);
    return element;
  }
}

function write(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
