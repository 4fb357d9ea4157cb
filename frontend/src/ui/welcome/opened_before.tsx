// The models that were opened before: a card each with the date, the best plan and its gain; opened again, with other shapes too, or
// deleted.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plural } from "../../base/format";
import { dimensionsOf, sizeMistake } from "../../data/model/shapes";
import { valueInputs, valueMistake } from "../../data/model/values";
import type { ModelInfo } from "../../data/protocol";
import { deleteModel, models, results } from "../../state/model/catalogue";
import { openSource } from "../../state/model/open";
import { DimensionFields } from "./dimension_fields";
import { Result } from "./result";
import { ValueFields } from "./value_fields";

const SHOWN = 12;

export function OpenedBefore(): JSX.Element | null {
  const own = models.value.filter((one) => one.sample === null);
  if (own.length === 0) return null;
  return (
    <>
      <h2>Opened before</h2>
      <ul class="cards">
        {own.slice(0, SHOWN).map((one) => (
          <OwnCard key={one.id} info={one} />
        ))}
      </ul>
    </>
  );
}

function OwnCard({ info }: { info: ModelInfo }): JSX.Element {
  const asked = useSignal<"shapes" | "delete" | null>(null);
  const toggle = (what: "shapes" | "delete"): void => void (asked.value = asked.value === what ? null : what);
  const result = results.value[info.id];
  return (
    <li class="own-card">
      <button type="button" class="card" onClick={() => void openSource({ kind: "id", id: info.id })}>
        <b>{info.name}</b>
        <span class="muted">{[info.region, plural(info.nodes, "node"), dateText(info.opened)].filter(Boolean).join(" · ")}</span>
        <span class="muted">{[shapesText(info), valuesText(info)].filter(Boolean).join(" · ")}</span>
        {info.stale && <span class="warn">{info.is_missing ? "came without its file" : "the file has changed since"}</span>}
        {result ? <Result result={result} /> : <span class="muted">no plan yet</span>}
      </button>
      <span class="card-actions">
        <button type="button" class="link" aria-expanded={asked.value === "shapes"} onClick={() => toggle("shapes")}>
          Other shapes
        </button>
        {info.region && (
          <button type="button" class="link" onClick={() => void openSource({ kind: "again", id: info.id, region: "" })}>
            Another region
          </button>
        )}
        <button type="button" class="link" aria-expanded={asked.value === "delete"} aria-label={`Delete ${info.name}`} onClick={() => toggle("delete")}>
          Delete
        </button>
      </span>
      {asked.value === "shapes" && <OtherShapes info={info} />}
      {asked.value === "delete" && (
        <span class="card-actions" role="group" aria-label={`Delete ${info.name} for good?`}>
          <span>Delete it for good? Its runs stay.</span>
          <button type="button" class="stop" onClick={() => void deleteModel(info.id)}>
            Delete it
          </button>
          <button type="button" onClick={() => toggle("delete")}>
            Keep it
          </button>
        </span>
      )}
    </li>
  );
}

/** The day on which it was opened last, in the user's own way of writing. */
function dateText(opened: string): string {
  const date = new Date(opened);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" }).replace(/\p{Zs}/gu, " ");
}

/** The shapes of the inputs, as one types them; a scalar has none. */
function shapesText({ inputs }: ModelInfo): string {
  const shaped = inputs.filter(({ shape }) => shape.length > 0);
  return shaped.map(({ name, shape }) => `${name}=${shape.join(",")}`).join(" ");
}

function valuesText({ values }: ModelInfo): string {
  const fixed = Object.entries(values ?? {});
  return fixed.map(([name, value]) => `${name} = ${value}`).join(", ");
}

function OtherShapes({ info }: { info: ModelInfo }): JSX.Element {
  const shaped = info.inputs.filter(({ shape }) => shape.length > 0);
  const sizes = useSignal<Record<string, string[]>>(Object.fromEntries(shaped.map(({ name, shape }) => [name, shape.map(String)])));
  const typed = useSignal<Record<string, string>>(info.values ?? {});
  const small = valueInputs(info);
  const shapeOf = (name: string): readonly number[] | null => sizes.value[name]?.map(Number) ?? (name in (info.values ?? {}) ? null : []);
  const isRight =
    Object.values(sizes.value).flat().every((size) => sizeMistake(size) === "") && small.every(({ name, dtype }) => valueMistake(typed.value[name] ?? "", dtype, shapeOf(name)) === "");
  const open = (event: Event): void => {
    event.preventDefault();
    const values = Object.fromEntries(Object.entries(typed.value).filter(([, value]) => value.trim() !== ""));
    if (isRight) void openSource({ kind: "again", id: info.id, values }, Object.fromEntries(Object.entries(sizes.value).map(([name, all]) => [name, all.map(Number)])));
  };
  return (
    <form class="shapes" aria-label={`Shapes of the inputs of ${info.name}`} onSubmit={open}>
      {shaped.map(({ name }) => (
        <fieldset key={name}>
          <legend>{name}</legend>
          <DimensionFields prefix={shaped.length > 1 ? `${name}, ` : ""} sizes={sizes.value[name] ?? []} dimensions={dimensionsOf(info, name)} change={(all) => (sizes.value = { ...sizes.value, [name]: all })} />
        </fieldset>
      ))}
      <ValueFields inputs={small} typed={typed.value} shapeOf={shapeOf} change={(all) => (typed.value = all)} />
      <button type="submit" class="primary" disabled={!isRight}>
        Open
      </button>
    </form>
  );
}
