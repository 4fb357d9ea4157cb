// The tab "What it is": the inputs, outputs, weights and attributes of the selected node, and the nodes that were folded into it.

import type { JSX } from "preact";
import { attribute, shape } from "../../base/format";
import { formalInput, shortName } from "../../data/model/formal_inputs";
import { attributesOf } from "../../data/model/node_attributes";
import { typeOf } from "../../data/model/tensors";
import type { NodeJson, OperatorDefinition, TensorInfo } from "../../data/protocol";
import { details } from "../../state/model/details";
import { bodyAttributes, openBody } from "../../state/model/file_view";
import { model, type OpenedModel } from "../../state/model/model";
import { partitionOf } from "../../state/run/run";
import { goToBox } from "../../state/selection/navigation";
import { selection } from "../../state/selection/selection";
import { Line, Section } from "./facts";
import { ModelCardPanel } from "./model_card";
import { SelectionTitle } from "./selection_title";
import { Weight } from "./weight";

export function NodePanel(): JSX.Element {
  const opened = model.value;
  const chosen = selection.value;
  if (!opened) return <p class="muted">Open a model first.</p>;
  if (chosen.kind === "none") return <ModelCardPanel opened={opened} />;
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
      <Line name={terminal?.name ?? ""}>
        {terminal?.rows[0]?.text ?? ""} <span class="muted">{opened.file?.docs[terminal?.name ?? ""]}</span>
      </Line>
    </Section>
  );
}

/** How freely TVM fuses an operator. */
const KIND_NAME: Readonly<Record<string, string>> = { E: "elementwise", B: "broadcast", I: "injective", R: "reduction", A: "out-elementwise-fusable", O: "opaque" };

function Facts({ node, opened }: { node: NodeJson; opened: OpenedModel }): JSX.Element {
  const { constants, nodes } = opened.graph;
  const own = node.inputs.length - (node.captured ?? 0);
  const weights = node.inputs.map((name, index) => ({ name, index })).filter(({ name, index }) => constants[name] && index < own);
  const inputs = node.inputs.map((name, index) => ({ name, index })).filter(({ name }) => name !== "" && !constants[name]);
  const types = new Map<string, TensorInfo>([...opened.graph.inputs, ...nodes.flatMap((one) => one.outputs)].map((tensor) => [tensor.name, tensor]));
  const definition = details.value?.operators.get(node.op);
  return (
    <>
      {definition && <Definition definition={definition} />}
      <BodyLinks node={node} />
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
            <Weight key={name} name={name}>
              {shape(constants[name]?.shape ?? [])} <span class="muted">{constants[name]?.dtype}</span>
              {constants[name]?.value && <code> {attribute(constants[name].value)}</code>}
            </Weight>
            <span class="muted">{name}</span>
          </Line>
        ))}
      </Section>
      <Section title="Outputs">
        {node.outputs.map((tensor) => (
          <Line key={tensor.name} name={shortName(tensor.name)} title={tensor.name}>
            {node.op === "Constant" ? <Weight key={tensor.name} name={tensor.name}>{typeText(tensor)}</Weight> : typeText(tensor)}
          </Line>
        ))}
      </Section>
      <Section title="Attributes">
        {attributesOf(node, definition).map(({ name, text, type, isDefault, doc }) => (
          <Line key={name} name={name} title={doc}>
            <code class={isDefault ? "muted" : ""}>{text}</code> <span class="muted">{[type, isDefault ? "by default" : ""].filter(Boolean).join(", ")}</span>
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
        Node {node.id}
        {!opened.file && `, ${KIND_NAME[node.kind] ?? node.kind} to TVM's fusion`}
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
  return `${typeOf(tensor)}${more && ` (${more})`}`;
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

/** The description of the node's operator. */
function Definition({ definition: { op, since, support, doc, inputs, outputs } }: { definition: OperatorDefinition }): JSX.Element {
  const version = since > 0 ? `since version ${since}` : "";
  return (
    <details class="definition">
      <summary>
        What {op} does <span class="muted">{[version, support === "stable" ? "" : support].filter(Boolean).join(", ")}</span>
      </summary>
      <p class="doc">{doc === "" ? "Its definition has no description." : doc}</p>
      <Section title="Its inputs and outputs">
        {[...inputs, ...outputs].map((one) => (
          <Line key={one.name} name={one.name}>
            {one.doc} <span class="muted">{[one.option === "single" ? "" : one.option, one.types.join(", ")].filter(Boolean).join(": ")}</span>
          </Line>
        ))}
      </Section>
    </details>
  );
}

/** The graphs in a node, each of which opens in place of the one that is shown. */
function BodyLinks({ node }: { node: NodeJson }): JSX.Element | null {
  const names = node.bodies?.map(({ attribute: name }) => name) ?? (model.value?.info.is_onnx ? bodyAttributes(node) : []);
  return (
    <Section title="Graphs in it">
      {names.map((name) => (
        <Line key={name} name={name === "" ? "function" : name}>
          <button type="button" class="link" onClick={() => void openBody(node, name)}>
            Open
          </button>
        </Line>
      ))}
    </Section>
  );
}
