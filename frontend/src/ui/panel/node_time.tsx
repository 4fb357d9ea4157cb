// The time of the selected node inside its partition, or where the time of the selected partition goes.

import type { JSX } from "preact";
import { duration, percent } from "../../base/format";
import { dearest, kernelTitle, nodeTimeText, sourceText } from "../../data/plan/node_times";
import type { PlanPartition } from "../../data/protocol";
import { isShown, openDrawer } from "../../state/display";
import { model } from "../../state/model/model";
import { goToBox, point } from "../../state/selection/navigation";
import { selectedPartition } from "../../state/selection/selected";
import { selection } from "../../state/selection/selection";
import { kernels, nodeTimes } from "../../state/tables/node_times";

export function NodeTime(): JSX.Element | null {
  const chosen = selection.value;
  const nodes = model.value?.graph.nodes ?? [];
  if (chosen.kind === "partition" && selectedPartition.value) return <Inside partition={selectedPartition.value} />;
  if (chosen.kind !== "box") return null;
  const lines = nodeTimeText(chosen.box, kernels.value.get(chosen.box), nodeTimes.value?.alone_s ?? {}, nodes);
  return (
    <>
      {lines.map((line) => (
        <p key={line}>{line}.</p>
      ))}
    </>
  );
}

const MOST = 4;

/** The dearest kernels of a partition, as links to their nodes. */
function Inside({ partition }: { partition: PlanPartition }): JSX.Element | null {
  const found = dearest(partition, kernels.value, MOST);
  if (found.length < 2) return null;
  const isTimeShown = isShown("time");
  return (
    <section class="inside" aria-label="Where its time goes">
      <p>
        Most of its time, {sourceText(found[0]?.source ?? "none", partition.target)}:{" "}
        {!isTimeShown && (
          <button type="button" class="link" onClick={() => openDrawer("time")}>
            all of it
          </button>
        )}
      </p>
      <ul>
        {found.map((kernel) => (
          <li key={kernel.nodes[0]} onPointerEnter={() => point(kernel.nodes)} onPointerLeave={() => point([])}>
            <button type="button" class="link" title={kernel.kernel} onClick={() => goToBox(kernel.nodes[0] ?? 0)}>
              {kernelTitle(kernel.nodes, model.value?.graph.nodes ?? [])}
            </button>{" "}
            {kernel.seconds !== null && duration(kernel.seconds)} <span class="muted">{percent(kernel.share)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
