// The border at which texts become the page's: every text of an element, and every attribute that is read to people, is made printable.
// Data keep the names as they are, since names are identities: of nodes in constraints, of inputs, of files.

import { Fragment, options } from "preact";
import { printable } from "../base/printable";

const READ = ["title", "aria-label", "aria-valuetext", "placeholder", "label", "alt"] as const;

/** Have all elements that are made from now on show printable texts. */
export function startPrintableTexts(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (node) => {
    if (typeof node.type === "string" || node.type === Fragment) makePrintable(node.props);
    before?.(node);
  };
}

/** Make the texts of an element printable, given its properties. */
export function makePrintable(own: Record<string, unknown>): void {
  for (const name of READ) {
    const value = own[name];
    if (typeof value === "string") own[name] = printable(value);
  }
  const { children } = own;
  if (typeof children === "string") own["children"] = printable(children);
  else if (Array.isArray(children)) own["children"] = children.map(ofChild);
}

function ofChild(child: unknown): unknown {
  if (Array.isArray(child)) return child.map(ofChild);
  return typeof child === "string" ? printable(child) : child;
}
