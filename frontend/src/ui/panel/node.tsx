// The tab "Node": the inputs, outputs, weights and attributes of the selected node, and the nodes that were folded into it.

import type { ComponentChildren, JSX } from "preact";
import { attribute, shape } from "../../base/format";
import { formalInput, shortName } from "../../data/model/formal_inputs";
import type { NodeJson, TensorInfo } from "../../data/protocol";
import { model, type OpenedModel } from "../../state/model/model";
import { partitionOf } from "../../state/run/run";
import { goToBox } from "../../state/selection/navigation";
import { selection } from "../../state/selection/selection";
import { SelectionTitle } from "./selection_title";

export function NodePanel(): JSX.Element {
  const opened = model.value;
  const chosen = selection.value;
  if (!opened || chosen.kind === "none") return <p class="muted">Select a node to see its attributes, inputs, outputs and weights.</p>;
  const node = chosen.kind === "box" ? opened.graph.nodes[chosen.box] : undefined;
  return (
    <>
      <SelectionTitle />
      {chosen.kind === "box" && !node && <Terminal opened={opened} box={chosen.box} />}
      {chosen.kind === "box" && node && <Facts node={node} opened={opened} />}
      {chosen.kind !== "box" && <p class="muted">Select one node for attributes and weights.</p>}
    </>
  );
}

/** An input or output of the model. */
function Terminal({ opened, box }: { opened: OpenedModel; box: number }): JSX.Element {
  const terminal = opened.built.boxes[box];
  return (
    <Section title="Type">
      <Line name={terminal?.name ?? ""}>{terminal?.rows[0]?.text ?? ""}</Line>
    </Section>
  );
}

function Facts({ node, opened }: { node: NodeJson; opened: OpenedModel }): JSX.Element {
  const { constants, nodes } = opened.graph;
  const weights = node.inputs.map((name, index) => ({ name, index })).filter(({ name }) => constants[name]);
  const inputs = node.inputs.map((name, index) => ({ name, index })).filter(({ name }) => name !== "" && !constants[name]);
  const types = new Map<string, TensorInfo>([...opened.graph.inputs, ...nodes.flatMap((one) => one.outputs)].map((tensor) => [tensor.name, tensor]));
  const attributes = Object.entries(node.attributes);
  return (
    <>
      <Section title="Inputs">
        {inputs.map(({ name, index }) => (
          <Line key={name} name={formalInput(opened.formal, node.op, index, name)} title={name}>
            <TensorLink name={name} /> <span class="muted">{typeText(types.get(name))}</span>
          </Line>
        ))}
      </Section>
      <Section title="Weights">
        {weights.map(({ name, index }) => (
          <Line key={name} name={formalInput(opened.formal, node.op, index, name)} title={name}>
            {shape(constants[name]?.shape ?? [])} <span class="muted">{constants[name]?.dtype}</span>
            {constants[name]?.value && <code> {attribute(constants[name].value)}</code>}
          </Line>
        ))}
      </Section>
      <Section title="Outputs">
        {node.outputs.map((tensor) => (
          <Line key={tensor.name} name={shortName(tensor.name)} title={tensor.name}>
            {typeText(tensor)}
          </Line>
        ))}
      </Section>
      <Section title="Attributes">
        {attributes.map(([name, value]) => (
          <Line key={name} name={name}>
            <code>{attribute(value)}</code>
          </Line>
        ))}
      </Section>
      <Section title="Folded into it">
        {node.absorbed.map((name) => (
          <Line key={name} name={name}>
            {opened.folded.find((one) => one.name === name)?.op}
          </Line>
        ))}
      </Section>
      <p class="muted">
        Node {node.id}, kind {node.kind}
        {partitionOf.value.get(node.id) && `, on ${partitionOf.value.get(node.id)?.target ?? ""}`}
      </p>
    </>
  );
}

function typeText(tensor: TensorInfo | undefined): string {
  if (!tensor) return "";
  const seen = tensor.measured_shape ? `${shape(tensor.measured_shape)} here` : "";
  const most = tensor.largest_shape ? `at most ${shape(tensor.largest_shape)}` : "";
  const more = [seen, most].filter(Boolean).join(", ");
  return `${shape(tensor.shape)} ${tensor.dtype}${more && ` (${more})`}`;
}

/** The name of a tensor, as a link to the node that makes it. */
function TensorLink({ name }: { name: string }): JSX.Element {
  const edge = model.value?.built.edges.find((one) => one.tensors.includes(name));
  if (!edge) return <>{name}</>;
  return (
    <button type="button" class="link" onClick={() => goToBox(edge.from)}>
      {name}
    </button>
  );
}

/** A titled list; nothing where it is empty. */
function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element | null {
  const isEmpty = Array.isArray(children) && children.length === 0;
  return isEmpty ? null : (
    <section class="facts">
      <h3>{title}</h3>
      <dl>{children}</dl>
    </section>
  );
}

function Line({ name, title, children }: { name: string; title?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt title={title}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
