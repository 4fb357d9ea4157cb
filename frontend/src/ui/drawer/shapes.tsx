// The plans of several shapes as small multiples: a card each with its total, who runs which nodes, and what changes from the shape before.

import type { JSX } from "preact";
import { duration, percent, plural } from "../../base/format";
import { answerTexts, type ShapeCard } from "../../data/plan/shapes";
import { styleOf } from "../../state/model/catalogue";
import { selectNodes } from "../../state/selection/navigation";
import { cards, shapes } from "../../state/tables/shapes";
import { Bar } from "../widgets/bar";

export function Shapes(): JSX.Element | null {
  const found = shapes.value;
  if (!found) return null;
  return (
    <section class="shape-cards" aria-label="Shapes">
      <h3>{plural(found.shapes.length, "shape")}</h3>
      {answerTexts(found).map((text) => (
        <p key={text}>{text}</p>
      ))}
      <ol>
        {cards.value.map((card) => (
          <Card key={card.name} card={card} />
        ))}
      </ol>
    </section>
  );
}

function Card({ card }: { card: ShapeCard }): JSX.Element {
  const targets = [...new Set(card.stretches.map((stretch) => stretch.target))].filter((target) => target !== "host");
  return (
    <li aria-current={card.isShown ? "true" : undefined}>
      <b>{card.name}</b> <span class="muted">{percent(card.weight)} of calls</span>
      {card.isShown && <span class="muted"> · on the graph</span>}
      <div>
        {duration(card.measuredS ?? card.totalS)} <span class="muted">{card.measuredS === null ? "predicted" : "measured"}</span>
      </div>
      <Bar share={card.share} colour="var(--accent)" />
      <span class="runs-on" role="img" aria-label={`${card.name} runs on ${targets.join(", ")}`}>
        {card.stretches.map(({ target, first, last }) => (
          <span key={first} title={`${target}: ${plural(last - first + 1, "node")} from ${first}`} style={{ flexGrow: last - first + 1, background: target === "host" ? "var(--grey)" : styleOf(target).base }} />
        ))}
      </span>
      {card.changed.length > 0 && (
        <button type="button" class="link" onClick={() => selectNodes(card.changed)}>
          {plural(card.changed.length, "node")} elsewhere{card.crossover !== "" && `, ${card.crossover}`}
        </button>
      )}
      {card.losses.length > 0 && <div class="muted">{`its plan would lose at ${card.losses.join(", ")}`}</div>}
    </li>
  );
}
