// The card of the open model: what its file says of the whole, and what was folded into what.

import type { JSX } from "preact";
import { bytes, count, plural } from "../../base/format";
import { shapeOf } from "../../data/model/tensors";
import type { FoldedInfo, ModelCard, ViewedTensor } from "../../data/protocol";
import { details } from "../../state/model/details";
import { model, type OpenedModel } from "../../state/model/model";
import { goToBox } from "../../state/selection/navigation";
import { ErrorCard } from "../widgets/error_card";
import { Line, Section } from "./facts";

export function ModelCardPanel({ opened }: { opened: OpenedModel }): JSX.Element {
  const known = details.value;
  return (
    <>
      <p class="muted">Select a node to see its attributes, inputs, outputs and weights.</p>
      {known?.error && <ErrorCard error={known.error} />}
      {known?.card && <Card card={known.card} opened={opened} />}
      {!opened.file && <Folded folded={opened.folded} />}
    </>
  );
}

function Card({ card, opened }: { card: ModelCard; opened: OpenedModel }): JSX.Element {
  const { info } = opened;
  const texts: [string, string][] = [
    ["producer", [card.producer, card.producer_version].filter(Boolean).join(" ")],
    ["IR version", String(card.ir_version)],
    ["opsets", Object.entries(card.opsets).map(([domain, version]) => `${domain} ${version}`).join(", ")],
    ["domain", card.domain],
    ["model version", card.model_version === 0 ? "" : String(card.model_version)],
    ["description", card.doc],
    ["graph", card.graph_doc],
    ["nodes", count(card.nodes) + (card.inner_nodes > 0 ? `, and ${count(card.inner_nodes)} in bodies and functions` : "")],
    ["parameters", `${count(card.parameters)} (${bytes(card.parameter_bytes)})`],
    ["size", bytes(info.size_bytes)],
    ["weights in", card.external.join(", ")],
    ["functions", card.functions.join(", ")],
  ];
  const fixed = opened.file ? [] : info.inputs;
  return (
    <>
      <div class="title">
        <h2>{card.name}</h2>
      </div>
      <Section title="File">
        {texts.map(([name, text]) => text !== "" && <Line key={name} name={name}>{text}</Line>)}
      </Section>
      <Section title="Inputs">
        {card.inputs.map((tensor) => (
          <Line key={tensor.name} name={tensor.name} title={tensor.doc}>
            {viewed(tensor)} {fixed.filter(({ name }) => name === tensor.name).map((one) => <span key="as" class="muted">planned as {shapeOf(one)}</span>)}
            {info.values[tensor.name] !== undefined && <span class="muted">always {info.values[tensor.name]}</span>}
          </Line>
        ))}
      </Section>
      <Section title="Outputs">
        {card.outputs.map((tensor) => (
          <Line key={tensor.name} name={tensor.name} title={tensor.doc}>{viewed(tensor)}</Line>
        ))}
      </Section>
      <Section title="Operators">
        {Object.entries(card.operators).map(([op, times]) => <Line key={op} name={op}>{count(times)}</Line>)}
      </Section>
      <Section title="Metadata">
        {Object.entries(card.metadata).map(([key, value]) => <Line key={key} name={key}>{value}</Line>)}
      </Section>
    </>
  );
}

function viewed({ dtype, dimensions }: ViewedTensor): string {
  const shape = dimensions === null ? "…" : dimensions.length === 0 ? "scalar" : dimensions.join("×");
  return dtype.includes("(") ? dtype : `${shape} ${dtype === "undefined" ? "" : dtype}`.trim();
}

const MOST_LISTED = 200;

/** The nodes of the file that are none of the plan: those that hold others, then those that became constants or are not needed. */
function Folded({ folded }: { folded: readonly FoldedInfo[] }): JSX.Element | null {
  if (folded.length === 0) return null;
  const into = new Map<string, FoldedInfo[]>();
  for (const one of folded) into.set(one.into ?? "", [...(into.get(one.into ?? "") ?? []), one]);
  const rows = [...into].sort(([a], [b]) => Number(a === "") - Number(b === ""));
  const ids = new Map(model.value?.graph.nodes.map(({ name, id }) => [name, id]));
  return (
    <section class="facts">
      <details>
        <summary>{plural(folded.length, "node")} of the file folded away</summary>
        <dl>
          {rows.slice(0, MOST_LISTED).map(([name, ones]) => (
            <div key={name}>
              <dt>{name === "" ? "constant or not needed" : <button type="button" class="link" onClick={() => goToBox(ids.get(name) ?? 0)}>{name}</button>}</dt>
              <dd>
                {ones.slice(0, MOST_LISTED).map((one) => `${one.name} (${one.op})`).join(", ")}
                {ones.length > MOST_LISTED && ` and ${count(ones.length - MOST_LISTED)} more`}
              </dd>
            </div>
          ))}
        </dl>
        {rows.length > MOST_LISTED && <p class="muted">and {plural(rows.length - MOST_LISTED, "node")} more that hold others</p>}
      </details>
    </section>
  );
}
