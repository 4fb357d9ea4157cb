import { expect, test } from "vitest";
import { SvgPath } from "./context_2d";
import { SvgContext, xmlText, type TextContext } from "./svg_context";

function context(): SvgContext {
  const ruler = { font: "12px serif", measureText: (text: string) => ({ width: 6 * text.length }), createPattern: () => ({ setTransform: () => undefined }) };
  return new SvgContext(ruler as unknown as TextContext, "#123456");
}

test("fills, strokes and texts become elements, in order", () => {
  const made = context();
  made.fillStyle = "#ff0000";
  made.fillRect(1, 2, 3.004, 4);
  made.beginPath();
  made.lineTo(0, 0);
  made.lineTo(10, 5);
  made.bezierCurveTo(1, 2, 3, 4, 5, 6);
  made.closePath();
  made.setLineDash([4, 3]);
  made.globalAlpha = 0.5;
  made.stroke();
  made.globalAlpha = 1;
  made.font = "bold 10px serif";
  made.textAlign = "center";
  made.textBaseline = "middle";
  made.fillText("a < b & c", 5, 10);
  const text = made.document(100, 50, 'the "title"', "sans");
  expect(text).toContain('<rect x="1" y="2" width="3" height="4" fill="#ff0000"/>');
  expect(text).toContain('<path d="M0 0L10 5C1 2 3 4 5 6Z" fill="none" stroke="#000000" stroke-width="1" stroke-dasharray="4 3" opacity="0.5"/>');
  expect(text).toContain('<text x="5" y="13.5" font-size="10" font-weight="bold" text-anchor="middle" fill="#ff0000" xml:space="preserve">a &lt; b &amp; c</text>');
  expect(text).toContain("<title>the &quot;title&quot;</title>");
  expect(text).toContain('viewBox="0 0 100 50"');
});

test("a transform and a clip are groups, and all of them are closed", () => {
  const made = context();
  made.setTransform(2, 0, 0, 2, 28, 28);
  made.save();
  made.fillStyle = "#00ff00";
  made.beginPath();
  made.roundRect(0, 0, 20, 10, 4);
  made.clip();
  made.fillRect(0, 0, 5, 5);
  made.restore();
  expect(made.fillStyle).toBe("#000000");
  const text = made.document(10, 10, "", "sans");
  expect(text.match(/<g /g)).toHaveLength(2);
  expect(text.match(/<\/g>/g)).toHaveLength(2);
  expect(text).toContain('<g transform="matrix(2 0 0 2 28 28)">');
});

test("a pattern is the document's own lines across", () => {
  const made = context();
  made.fillStyle = made.createPattern({} as CanvasImageSource, "repeat") ?? "";
  made.fillRect(0, 0, 1, 1);
  expect(made.document(1, 1, "", "sans")).toMatch(/stroke="#123456"[^]*fill="url\(#hatch\)"/);
});

test("round corners are no larger than their rectangle", () => {
  const path = new SvgPath();
  path.roundRect(0, 0, 10, 4, 9);
  expect(path.d).toBe("M2 0h6a2 2 0 0 1 2 2v0a2 2 0 0 1 -2 2h-6a2 2 0 0 1 -2 -2v0a2 2 0 0 1 2 -2Z");
  const square = new SvgPath();
  square.roundRect(0, 0, 10, 4, [2, 2, 0, 0]);
  expect(square.d).toBe("M2 0h6a2 2 0 0 1 2 2v2h-10v-2a2 2 0 0 1 2 -2Z");
});

test.each(["\u0000", "\u001b", "\ud800", "\udc00x", "\uffff"])("XML has no way to write %j", (text) => {
  expect(xmlText(text)).toContain("\ufffd");
});

test("characters that XML can write stay", () => {
  expect(xmlText("tab\tline\n é 😀 <a href='x'>")).toBe("tab\tline\n é 😀 &lt;a href='x'&gt;");
});
