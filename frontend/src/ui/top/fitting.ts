// Keeps the header on one line: as long as it does not fit, it loses its words, step by step (`data-left-out` in layout.css).

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { cancelFrame, requestFrame } from "../../base/frame_scheduler";

/** The steps, the first to be taken first. */
const STEPS = ["1", "2", "3", "4", "5"];
/** Up to this width the header has several lines, and takes all steps. */
const NARROW = 1000;

/** After so long without a change the header tries all of its words again: what took their room may be gone, with as many letters as before. */
const SETTLED_MS = 250;

/** Leave words of the header out whenever its text or its width changes: once a frame, since asking for widths lays the page out. */
export function useOneLine(ref: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const header = ref.current;
    if (!header) return;
    let [width, length] = [0, 0];
    let settled: ReturnType<typeof setTimeout> | undefined;
    const fit = (): boolean => {
      const [nowWide, nowLong] = [header.clientWidth, header.textContent.length];
      leaveOut(header, nowWide !== width || nowLong < length);
      [width, length] = [nowWide, nowLong];
      return false;
    };
    const request = (): void => {
      requestFrame(fit);
      clearTimeout(settled);
      settled = setTimeout(() => {
        if (header.dataset["leftOut"]) leaveOut(header, true);
      }, SETTLED_MS);
    };
    const texts = new MutationObserver(request);
    texts.observe(header, { childList: true, characterData: true, subtree: true });
    const widths = new ResizeObserver(request);
    widths.observe(header);
    fit();
    return () => {
      cancelFrame(fit);
      clearTimeout(settled);
      texts.disconnect();
      widths.disconnect();
    };
  }, [ref]);
}

/** Take the fewest steps with which all of it is on one line; where the header is no wider and its text no shorter than before, those that are taken stay. */
function leaveOut(header: HTMLElement, hasMoreRoom: boolean): void {
  const fewest = innerWidth > NARROW ? 0 : STEPS.length;
  const before = header.dataset.leftOut?.split(" ").filter(Boolean).length ?? 0;
  for (let taken = hasMoreRoom ? fewest : Math.max(fewest, before); taken <= STEPS.length; taken += 1) {
    header.dataset.leftOut = STEPS.slice(0, taken).join(" ");
    if (!isWrapped(header)) return;
  }
}

function isWrapped(header: HTMLElement): boolean {
  const [first, last] = [header.firstElementChild, header.lastElementChild];
  if (!(first instanceof HTMLElement) || !(last instanceof HTMLElement)) return false;
  return last.offsetTop >= first.offsetTop + first.offsetHeight;
}
