// Keeps the header on one line: as long as it does not fit, it loses its words, step by step (`data-left-out` in layout.css).

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** The steps, the first to be taken first. */
const STEPS = ["1", "2", "3", "4", "5"];
/** Up to this width the header has several lines, and takes all steps. */
const NARROW = 1000;

/** Leave words of the header out whenever its text or its width changes. */
export function useOneLine(ref: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const header = ref.current;
    if (!header) return;
    let fitted = "";
    const fit = (): void => {
      const now = `${header.clientWidth} ${header.textContent}`;
      if (now === fitted) return;
      fitted = now;
      leaveOut(header);
    };
    const texts = new MutationObserver(fit);
    texts.observe(header, { childList: true, characterData: true, subtree: true });
    const width = new ResizeObserver(fit);
    width.observe(header);
    fit();
    return () => {
      texts.disconnect();
      width.disconnect();
    };
  }, [ref]);
}

/** Take the fewest steps with which all of it is on one line. */
function leaveOut(header: HTMLElement): void {
  const fewest = innerWidth > NARROW ? 0 : STEPS.length;
  for (let taken = fewest; taken <= STEPS.length; taken += 1) {
    header.dataset.leftOut = STEPS.slice(0, taken).join(" ");
    if (!isWrapped(header)) return;
  }
}

function isWrapped(header: HTMLElement): boolean {
  const [first, last] = [header.firstElementChild, header.lastElementChild];
  if (!(first instanceof HTMLElement) || !(last instanceof HTMLElement)) return false;
  return last.offsetTop >= first.offsetTop + first.offsetHeight;
}
