// The legend of the marks that every overlay has, behind a button: the drawn signs, each with its meaning in words.

import type { JSX } from "preact";
import { Popover } from "../widgets/popover";

/** The class that draws the sign, or the sign itself, and its meaning. */
const MARKS: readonly { drawn?: string; sign?: string; says: string }[] = [
  { drawn: "hull", says: "a partition: the letter of its target, and its cost measured alone, ± its 95 % interval" },
  { drawn: "hull dashed", says: "a partition that the last decision changed" },
  { drawn: "hull hatched", says: "not measured, or not possible; the legend below the graph says which" },
  { sign: "▌", says: "a coloured band at the left of a partition: its tensors are in the memory of the device that its badge names" },
  { sign: "⇠", says: "a bold dashed edge: the tensor is copied to another memory there; the label has its bytes and the time" },
  { sign: "◆", says: "a partition with pinned nodes; as a button: pin exactly this candidate" },
  { sign: "⊘", says: "a button: veto this candidate" },
  { drawn: "folded", sign: "▸", says: "a folded group, with the shares of its colours; double-click or its triangle unfolds it" },
  { drawn: "host", says: "a node that only passes references on; it costs nothing" },
  { sign: "⇣", says: "a tensor from far above, whose edge is left out" },
];

export function Marks(): JSX.Element {
  return (
    <span class="marks">
      <Popover content="Legend" label="The marks on the graph">
        {() => (
          <ul>
            {MARKS.map(({ drawn = "sign", sign, says }) => (
              <li key={says}>
                <span class={`mark ${drawn}`} aria-hidden={sign === undefined || drawn !== "sign"}>
                  {sign}
                </span>
                <span>{says}</span>
              </li>
            ))}
          </ul>
        )}
      </Popover>
    </span>
  );
}
