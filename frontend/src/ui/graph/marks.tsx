// The legend of the marks that every overlay has, behind a button: the drawn signs, each with its meaning in words.

import type { JSX } from "preact";
import { Popover } from "../widgets/popover";

/** The class that draws the sign, or the sign itself, and its meaning. */
const MARKS: readonly { drawn?: string; sign?: string; says: string }[] = [
  { drawn: "hull", says: "a partition: its target's letter, its cost as measured alone and the interval of it; all costs and transitions together are the predicted total" },
  { drawn: "hull dashed", says: "a partition that the last decision changed" },
  { drawn: "hull hatched", says: "not measured, or not possible; the legend of the overlay says which" },
  { sign: "▌", says: "a coloured band at the left of a partition: its tensors are in the memory of the device that its badge names" },
  { sign: "⇠", says: "a bold dashed edge: the tensor is copied to another memory there; the label has its bytes and the time" },
  { sign: "◆", says: "pinned: nodes of the partition stay on its target; as a button, pins exactly this candidate" },
  { sign: "⊘", says: "a button: vetoes the candidate, which no plan may then use" },
  { drawn: "folded", sign: "▸", says: "a folded group, with the shares of what its nodes are painted; click it twice, or its triangle, to unfold it" },
  { drawn: "host", says: "a node that only shuffles references; it runs nowhere and costs nothing" },
  { sign: "⇣", says: "a short dashed arrow: a tensor from far above, whose edge is left out" },
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
