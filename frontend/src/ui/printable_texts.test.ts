import { h } from "preact";
import { expect, test } from "vitest";
import { makePrintable } from "./printable_texts";

const BIDI = "safe\u202egnp";
const SHOWN = "safe\\u202egnp";

function made({ props }: { props: object }): object {
  makePrintable(props as Record<string, unknown>);
  return props;
}

test("texts and what is read to people are made printable, whatever they are beside", () => {
  expect(made(h("b", null, BIDI))).toMatchObject({ children: SHOWN });
  const inner = h("i", null, "inner");
  expect(made(h("b", { title: BIDI, "aria-label": BIDI }, "plain", BIDI, inner, 7, [BIDI]))).toMatchObject({
    title: SHOWN,
    "aria-label": SHOWN,
    children: ["plain", SHOWN, inner, 7, [SHOWN]],
  });
});

test("identities and what a user types stay", () => {
  expect(made(h("input", { value: BIDI, "data-name": BIDI }))).toMatchObject({ value: BIDI, "data-name": BIDI });
});
