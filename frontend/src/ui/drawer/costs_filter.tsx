// The filter of the table of costs.

import type { JSX } from "preact";
import { EVERYTHING, isFiltering, type Filter, type RegretFilter, type Validity } from "../../data/tables/candidate_rows";
import { choices, filter, changeFilter } from "../../state/tables/costs";
import { Badge } from "../widgets/badge";

const VALIDITY: readonly [Validity, string][] = [
  ["all", "valid or not"],
  ["valid", "valid"],
  ["invalid", "invalid"],
  ["chosen", "in the plan"],
];

const REGRET: readonly [string, RegretFilter, string][] = [
  ["all", "all", "any regret"],
  ["none", "none", "no regret"],
  ["1", 0.01, "up to 1 % of the predicted total"],
  ["10", 0.1, "up to 10 % of the predicted total"],
  ["in-no-plan", "in-no-plan", "in no plan"],
  ["unknown", "unknown", "not known"],
];

export function CostsFilter(): JSX.Element {
  const now = filter.value;
  const { targets, sources } = choices.value;
  return (
    <div class="filters" role="group" aria-label="Filter">
      <input
        type="text"
        aria-label="Operator"
        placeholder="operator"
        autocomplete="off"
        spellcheck={false}
        value={now.operator}
        onInput={(event) => changeFilter({ operator: event.currentTarget.value })}
      />
      {now.target !== "" && <Badge target={now.target} />}
      <Select label="Target" value={now.target} choose={(target) => changeFilter({ target })} options={[["", "all targets"], ...targets.map(same)]} />
      <Select label="Validity" value={now.validity} choose={(validity) => changeFilter({ validity: validity as Validity })} options={VALIDITY} />
      <Select label="Source" value={now.source} choose={(source) => changeFilter({ source })} options={[["", "all sources"], ...sources.map(same)]} />
      <Select
        label="Regret"
        value={REGRET.find(([, regret]) => regret === now.regret)?.[0] ?? "all"}
        choose={(id) => changeFilter({ regret: REGRET.find(([one]) => one === id)?.[1] ?? "all" } satisfies Partial<Filter>)}
        options={REGRET.map(([id, , words]) => [id, words])}
      />
      {now.rule !== "" && (
        <button type="button" class="tag" title={`Only candidates that came through the rule ${now.rule}: show all again`} onClick={() => changeFilter({ rule: "" })}>
          {`rule ${now.rule.split(".").at(-1) ?? ""} ✕`}
        </button>
      )}
      {isFiltering(now) && (
        <button type="button" class="link" onClick={() => (filter.value = EVERYTHING)}>
          show all
        </button>
      )}
    </div>
  );
}

function same(name: string): [string, string] {
  return [name, name];
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}

function Select({ label, value, options, choose }: SelectProps): JSX.Element {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {options.map(([id, words]) => (
        <option key={id} value={id}>
          {words}
        </option>
      ))}
    </select>
  );
}
