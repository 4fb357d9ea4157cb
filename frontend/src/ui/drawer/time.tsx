// The tab "Time": where the time of the plan goes, from the model to blocks, partitions and kernels, each as wide as its time. A click
// widens a part and selects its nodes on the graph.

import type { JSX } from "preact";
import { duration, percent, plural } from "../../base/format";
import { cellsOf, type Cell, type Part } from "../../data/plan/icicle";
import { heat } from "../../data/overlays/ramps";
import type { PartitionNodeTimes } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { theme } from "../../state/graph/painting";
import { styleOf } from "../../state/model/catalogue";
import { model } from "../../state/model/model";
import { run } from "../../state/run/run";
import { goToPartition, point, selectNodes, showNodes } from "../../state/selection/navigation";
import { nodeTimes, timeTree, zoomedPart } from "../../state/tables/node_times";

const ROW_PX = 22;
/** Cells narrower than this share of the width cannot be seen, or clicked. */
const LEAST = 0.0015;

export function TimeTab(): JSX.Element {
  const tree = timeTree.value;
  if (!tree || !(tree.seconds > 0)) return <p class="muted">{run.value && !hasEnded(run.value) ? "Known when the run ends." : "No plan with known costs yet."}</p>;
  const cells = cellsOf(tree, zoomedPart.value, LEAST);
  const rows = Math.max(...cells.map((cell) => cell.row)) + 1;
  return (
    <>
      <div class="icicle" role="group" aria-label={`Where the time of ${tree.title} goes`} style={{ height: `${rows * ROW_PX}px` }}>
        {cells.map((cell) => (
          <CellButton key={cell.part.key} cell={cell} totalS={tree.seconds} />
        ))}
      </div>
      <Sources />
    </>
  );
}

function CellButton({ cell: { part, row, left, width }, totalS }: { cell: Cell; totalS: number }): JSX.Element {
  const share = totalS > 0 ? part.seconds / totalS : 0;
  const words = `${titleOf(part)}, ${duration(part.seconds)}, ${percent(share)} of the predicted total`;
  const isWide = row > 0 && zoomedPart.value === part.key;
  return (
    <button
      type="button"
      class={`part ${part.kind}`}
      style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${row * ROW_PX}px`, height: `${ROW_PX}px`, background: colourOf(part, share) }}
      aria-label={words}
      aria-pressed={isWide}
      title={part.kernel?.kernel ? `${words}\n${part.kernel.kernel}` : words}
      onClick={() => choose(part)}
      onPointerEnter={() => point(part.nodes)}
      onPointerLeave={() => point([])}
    >
      <span class="words">
        <b>{titleOf(part)}</b> {duration(part.seconds)} <span class="muted">{percent(share)}</span>
      </span>
    </button>
  );
}

/** Select what a part stands for, and widen it where it has parts; one that is wide already gives the whole model back. */
function choose(part: Part): void {
  if (part.inner.length > 0) zoomedPart.value = zoomedPart.peek() === part.key ? "" : part.key;
  if (part.kind === "partition" && part.partition?.nodes.length === part.nodes.length) goToPartition(part.partition);
  else if (part.kind === "kernel" && part.nodes.length === 1) showNodes(part.nodes);
  else if (part.kind !== "model") selectNodes(part.nodes);
}

function titleOf(part: Part): string {
  const name = model.value?.graph.nodes[part.nodes[0] ?? -1]?.name ?? "";
  if (part.kind === "partition") return `${styleOf(part.title).letter} ${part.title}, ${plural(part.nodes.length, "node")}`;
  return part.kind === "kernel" && part.kernel ? `${part.title} · ${name}` : part.title;
}

/** Kernels by their heat, partitions by their target, and all around them without a colour. */
function colourOf(part: Part, share: number): string {
  if (part.kind === "partition") return `color-mix(in srgb, ${styleOf(part.title).base} 35%, var(--raised))`;
  if (part.kind === "kernel" && part.kernel) return `color-mix(in srgb, ${heat(share, theme.value?.isDark ?? false)} 45%, var(--raised))`;
  return "var(--raised)";
}

const SOURCE_TEXT: Readonly<Record<PartitionNodeTimes["source"], string>> = {
  profiler: "by its toolchain's profiler, scaled to its cost",
  candidates: "by the costs of its nodes alone, in which nothing is fused",
  cost: "",
  none: "unknown inside",
};

/** How many partitions have their times from where, and why the others have none. */
function Sources(): JSX.Element | null {
  const all = nodeTimes.value?.partitions ?? [];
  const said = (["profiler", "candidates", "none"] as const).flatMap((source) => {
    const of = all.filter((one) => one.source === source);
    const reasons = [...new Set(of.map((one) => one.reason))].filter(Boolean);
    return of.length === 0 ? [] : [{ source, text: `${plural(of.length, "partition")} ${SOURCE_TEXT[source]}`, reasons }];
  });
  if (said.length === 0) return null;
  return (
    <p class="muted">
      Times inside:{" "}
      {said.map(({ source, text, reasons }, i) => (
        <span key={source} title={reasons.join("\n")}>
          {i > 0 && "; "}
          {text}
          {source !== "candidates" && reasons[0] && ` (${reasons[0]})`}
        </span>
      ))}
    </p>
  );
}
