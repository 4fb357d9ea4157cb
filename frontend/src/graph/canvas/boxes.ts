// Draws boxes, with a coloured header for the operator's name and rows of weights and attributes, and the outlines around them.

import type { Box } from "../boxes/build";
import { CATEGORY_COLOUR, GROUP_COLOUR } from "../boxes/categories";
import { BODY_PAD, HANDLE_WIDTH, ROW_FONT, ROW_HEIGHT, ROW_NAME_FONT, SIDE_PAD, TITLE_FONT, TITLE_HEIGHT } from "../layout/measure";
import { holderOf, type PlacedBox } from "../scene/scene";
import type { Context2d } from "./context_2d";
import { ramp, type Detail } from "./detail";
import type { Drawing } from "./drawing";
import type { Frame } from "./frame";

export const CORNER = 5;
/** How wide the colour of the operator's category is in a header that has another colour. */
const CLASS_WIDTH = 4;
/** Below this scale a box has its colour all over: a header would be a faint line. */
const BODY_SCALE = 0.16;
/** Up to this scale the body of a box shows the paint of an overlay. */
const PAINT_SCALE = 0.22;
/** Above this scale the corners of boxes are round. */
const ROUND_SCALE = 0.3;
/** How wide the border of a box is, on the screen, where its corners are not round. */
const FAR_BORDER_PX = 0.6;

/** Draw boxes, and their text as far as it can be read at this scale. */
export function drawBoxes(drawing: Drawing, boxes: readonly PlacedBox[], detail: Detail): void {
  const { context, frame } = drawing;
  context.globalAlpha = detail.boxes;
  if (frame.camera.k < BODY_SCALE) {
    for (const box of boxes) {
      if (isPainted(drawing, box)) continue;
      context.fillStyle = headerColour(box, frame);
      context.fillRect(box.x, box.y, box.width, box.height);
    }
  } else {
    const isRound = frame.camera.k > ROUND_SCALE;
    for (const box of boxes) drawBody(drawing, box, isRound);
  }
  if (detail.titles > 0) drawTitles(drawing, boxes, detail.boxes * detail.titles);
  if (detail.rows > 0) drawRows(drawing, boxes, detail.boxes * detail.rows);
  context.globalAlpha = 1;
}

function drawBody(drawing: Drawing, placed: PlacedBox, isRound: boolean): void {
  const { context, frame } = drawing;
  const { x, y, width, height, box } = placed;
  const header = headerColour(placed, frame);
  const hasBody = height > TITLE_HEIGHT;
  if (!isRound) {
    drawSquare(drawing, placed, header);
    return;
  }
  if (hasBody) {
    context.fillStyle = bodyColour(placed, frame);
    round(context, x, y, width, height, CORNER);
    context.fill();
  }
  context.fillStyle = header;
  round(context, x, y, width, TITLE_HEIGHT, hasBody ? [CORNER, CORNER, 0, 0] : CORNER);
  context.fill();
  if (frame.boxes.has(box.id)) drawClass(drawing, placed);
  context.lineWidth = 1;
  context.strokeStyle = frame.theme.nodeBorder;
  if (box.isHost) context.setLineDash([4, 3]);
  round(context, x, y, width, height, CORNER);
  context.stroke();
  if (box.isHost) context.setLineDash([]);
}

/** Draw the colour of the operator's category at the left end of a header that has another colour. */
function drawClass({ context }: Drawing, { x, y, height, box }: PlacedBox): void {
  if (box.kind !== "node") return;
  context.fillStyle = CATEGORY_COLOUR[box.category];
  round(context, x, y, CLASS_WIDTH, TITLE_HEIGHT, [CORNER, 0, 0, height > TITLE_HEIGHT ? 0 : CORNER]);
  context.fill();
}

/**
 * A box that is seen from afar. Without a border its body could not be told from a light background, and edges would end nowhere. The body
 * of a box that the overlay paints fades out: from afar its paint is seen, which around the box alone would be a faint line.
 */
function drawSquare(drawing: Drawing, placed: PlacedBox, header: string): void {
  const { context, frame } = drawing;
  const { x, y, width, height } = placed;
  if (height > TITLE_HEIGHT) {
    const opacity = context.globalAlpha;
    const isPaint = isPainted(drawing, placed); // It has a border of its own.
    const border = isPaint ? 0 : FAR_BORDER_PX / frame.camera.k;
    if (isPaint) context.globalAlpha *= ramp(frame.camera.k, PAINT_SCALE, ROUND_SCALE);
    else {
      context.fillStyle = frame.theme.nodeBorder;
      context.fillRect(x, y, width, height);
    }
    context.fillStyle = bodyColour(placed, frame);
    context.fillRect(x + border, y, width - 2 * border, height - border);
    context.globalAlpha = opacity;
  }
  context.fillStyle = header;
  context.fillRect(x, y, width, Math.min(height, TITLE_HEIGHT));
}

/** True if the overlay paints the box by itself, or the nodes that are folded in it. */
export function isPainted({ frame }: Drawing, { box }: PlacedBox): boolean {
  return frame.pads.has(box.id) || frame.groups.bars.has(box.id);
}

/** The colour of a box that is seen from far, and of the header of one that is near. */
export function headerColour({ box }: PlacedBox, { boxes, theme }: Frame): string {
  if (isTerminal(box)) return theme.ioHeader;
  return boxes.get(box.id)?.header ?? categoryColour(box);
}

function bodyColour({ box }: PlacedBox, { boxes, theme }: Frame): string {
  return boxes.get(box.id)?.body?.fill ?? theme.nodeBody;
}

function categoryColour(box: Box): string {
  return box.kind === "group" ? GROUP_COLOUR : CATEGORY_COLOUR[box.category];
}

/** True if a box is an input or output of the model. */
function isTerminal({ kind }: Box): boolean {
  return kind === "input" || kind === "output";
}

function round(context: Context2d, x: number, y: number, width: number, height: number, radius: number | number[]): void {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

function drawTitles(drawing: Drawing, boxes: readonly PlacedBox[], alpha: number): void {
  const { context, frame } = drawing;
  context.globalAlpha = alpha;
  context.font = TITLE_FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { box, x, y } of boxes) {
    context.fillStyle = isTerminal(box) ? frame.theme.ioText : (frame.boxes.get(box.id)?.headerText ?? "#ffffff");
    context.fillText(box.title, x + SIDE_PAD + (box.kind === "group" ? HANDLE_WIDTH : 0), y + TITLE_HEIGHT / 2 + 0.5);
  }
}

function drawRows(drawing: Drawing, boxes: readonly PlacedBox[], alpha: number): void {
  const { context, frame } = drawing;
  context.globalAlpha = alpha;
  context.font = ROW_NAME_FONT;
  const texts: [string, number, number, string][] = [];
  for (const { box, x, y } of boxes) {
    const colour = frame.boxes.get(box.id)?.body?.text ?? frame.theme.text;
    context.fillStyle = colour;
    box.rows.forEach((row, i) => {
      const middle = y + TITLE_HEIGHT + BODY_PAD + (i + 0.5) * ROW_HEIGHT;
      const left = x + SIDE_PAD;
      if (row.name === "") {
        texts.push([row.text, left, middle, colour]);
        return;
      }
      context.fillText(row.name, left, middle);
      texts.push([` ${row.text}`, left + nameWidth(context, row.name), middle, colour]);
    });
  }
  context.font = ROW_FONT;
  for (const [text, x, y, colour] of texts) {
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }
}

const nameWidths = new Map<string, number>();

/** The width of a row's bold name, cached, since few different names occur. */
function nameWidth(context: Context2d, name: string): number {
  let width = nameWidths.get(name);
  if (width === undefined) {
    width = context.measureText(name).width;
    nameWidths.set(name, width);
  }
  return width;
}

/** Boxes with an outline of constant width on the screen, and how far its middle is from them; both in pixels of the screen. */
export interface Outline {
  ids: ReadonlySet<number>;
  colour: string;
  line: number;
  gap: number;
}

/** The outlines of found, hovered and selected boxes, each over those before it. */
export function outlinesOf({ hits, hovered, selected, theme }: Frame): Outline[] {
  return [
    { ids: hits, colour: theme.hit, line: 2, gap: 2 },
    { ids: hovered, colour: theme.accent, line: 2, gap: 3 },
    { ids: selected, colour: theme.select, line: 2.5, gap: 3 },
  ];
}

/** Draw the outlines. */
export function drawOutlines(drawing: Drawing): void {
  for (const one of outlinesOf(drawing.frame)) outline(drawing, one);
}

function outline(drawing: Drawing, { ids, colour, line, gap: gapPx }: Outline): void {
  const { context, frame, area } = drawing;
  if (ids.size === 0) return;
  const { k } = frame.camera;
  context.strokeStyle = colour;
  context.lineWidth = line / k;
  const gap = gapPx / k;
  context.beginPath();
  for (const id of ids) {
    const box = holderOf(frame.scene, id);
    if (!box || box.y > area.y + area.height || box.y + box.height < area.y) continue;
    context.roundRect(box.x - gap, box.y - gap, box.width + 2 * gap, box.height + 2 * gap, CORNER + gap);
  }
  context.stroke();
}
