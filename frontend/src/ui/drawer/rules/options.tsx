// The page "Options": the options of the next run with their problems, and those of the shown run.

import type { JSX } from "preact";
import { parseAccuracy } from "../../../data/plan/terms";
import { ALL, FUSION, NOTHING_SAID, optionsInText, SEARCHERS } from "../../../data/run/options_form";
import { model } from "../../../state/model/model";
import { changeForm, changeTarget, form, formTargets, isChanged, problems, resetOptions, takeOver } from "../../../state/run/options";
import { accuracyText, isActive, run } from "../../../state/run/run";
import { runNow } from "../../../state/run/start";
import { Badge } from "../../widgets/badge";

export function OptionsForm(): JSX.Element {
  return (
    <div class="options-body">
      <form
        aria-label="Options of the next run"
        onSubmit={(event) => {
          event.preventDefault();
          void runNow();
        }}
      >
        <TargetOptions />
        <General />
        <div class="option-buttons">
          <button type="submit" class="primary" disabled={isActive.value || problems.value.size > 0}>
            Run with these <span aria-hidden="true">▸</span>
          </button>
          <button type="button" disabled={!isChanged.value} onClick={resetOptions}>
            Reset to defaults
          </button>
          <ShownRun />
        </div>
      </form>
    </div>
  );
}

function TargetOptions(): JSX.Element {
  return (
    <table class="target-options">
      <thead>
        <tr>
          <th scope="col">target</th>
          <th scope="col" title="Most nodes on the longest path through a candidate (--max-depth)">
            max depth
          </th>
          <th scope="col" title="Most outputs of a candidate: nodes that are read outside of it (--max-exits)">
            max outputs
          </th>
          <th scope="col" title="Which calls of a library are joined in one candidate (--fusion)">
            fusion
          </th>
          <th scope="col" title="A node inside a candidate may be read outside of it, too (--taps)">
            taps
          </th>
        </tr>
      </thead>
      <tbody>
        {formTargets.value.map((target) => (
          <TargetRow key={target} target={target} />
        ))}
      </tbody>
    </table>
  );
}

function TargetRow({ target }: { target: string }): JSX.Element {
  const said = form.value.targets[target] ?? NOTHING_SAID;
  const name = target === ALL ? "all others" : target;
  return (
    <tr>
      <th scope="row">
        {target !== ALL && <Badge target={target} />} {name}
      </th>
      <td>
        <Field label={`max depth of ${name}`} field={at("max_depth", target)} value={said.depth} placeholder={target === ALL ? "default" : "inherit"} set={(depth) => changeTarget(target, { depth })} />
      </td>
      <td>
        <Field label={`max outputs of ${name}`} field={at("max_exits", target)} value={said.exits} placeholder={target === ALL ? "default (1)" : "inherit"} set={(exits) => changeTarget(target, { exits })} />
      </td>
      <td>{target !== ALL && <Select label={`fusion of ${name}`} value={said.fusion} first="default" options={FUSION} set={(fusion) => changeTarget(target, { fusion })} />}</td>
      <td>
        <input type="checkbox" aria-label={`taps of ${name}`} checked={said.hasTaps} onChange={(event) => changeTarget(target, { hasTaps: event.currentTarget.checked })} />
      </td>
    </tr>
  );
}

function at(option: string, target: string): string {
  return target === ALL ? option : `${option}:${target}`;
}

function General(): JSX.Element {
  const now = form.value;
  const accuracyIsWrong = parseAccuracy(accuracyText.value) === undefined;
  return (
    <div class="general-options">
      <Labelled words="threads">
        <Field label="threads" field="threads" value={now.threads} placeholder="all cores" set={(threads) => changeForm({ threads })} />
      </Labelled>
      <Labelled words="accuracy" hint="largest relative error that a plan may have">
        <Field
          label="largest relative error"
          field="accuracy"
          value={accuracyText.value}
          placeholder={(model.value?.info.accuracy ?? 1e-3).toExponential()}
          set={(text) => (accuracyText.value = text)}
          problem={accuracyIsWrong ? "a number between 0 and 1, such as 1e-3" : undefined}
        />
      </Labelled>
      <Labelled words="values" hint="finite: NaN and infinities may become something else; any: they must be where the model has them">
        <Select label="values that must be right" value={now.valuePolicy} first="finite" options={["any"]} set={(valuePolicy) => changeForm({ valuePolicy })} />
      </Labelled>
      <Labelled words="percentile" hint="the percentile of the measured samples that counts as the cost">
        <Field label="percentile" field="percentile" value={now.percentile} placeholder="50" set={(percentile) => changeForm({ percentile })} />
      </Labelled>
      <Labelled words="budget, s" hint="time to the answer; what it leaves undecided is said, and the run can go on">
        <Field label="budget of the run in seconds" field="budget_s" value={now.budget} placeholder="15 to 45" set={(budget) => changeForm({ budget })} />
      </Labelled>
      <Labelled words="tune, s" hint="time for faster schedules of the kernels of targets that tune (tvm), on top of the budget">
        <Field label="time for tuning in seconds" field="tune_s" value={now.tune} placeholder="none" set={(tune) => changeForm({ tune })} />
      </Labelled>
      <Labelled words="time limit, s" hint="after that time a search ends with the best plan it has">
        <Field label="time limit in seconds" field="time_limit_s" value={now.timeLimit} placeholder="none" set={(timeLimit) => changeForm({ timeLimit })} />
      </Labelled>
      <Labelled words="search">
        <Select label="search algorithm" value={now.search} first="astar (exact)" options={SEARCHERS.slice(1)} set={(search) => changeForm({ search })} />
      </Labelled>
      <Labelled words="objective" hint="time, bytes, partitions, memory; one after another (bytes,time) or as a sum (time+2e-10*bytes)">
        <Field label="objective" field="objective" value={now.objective} placeholder="time" set={(objective) => changeForm({ objective })} />
      </Labelled>
      <label class="check" title="Every candidate, not only those that could matter">
        <input type="checkbox" checked={now.measureAll} onChange={(event) => changeForm({ measureAll: event.currentTarget.checked })} /> measure everything
      </label>
    </div>
  );
}

function Labelled({ words, hint, children }: { words: string; hint?: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="labelled" title={hint}>
      <span class="muted" aria-hidden="true">
        {words}
      </span>
      {children}
    </div>
  );
}

interface FieldProps {
  label: string;
  field: string;
  value: string;
  placeholder: string;
  set: (text: string) => void;
  problem?: string | undefined;
}

/** A short text field, with its problem below. */
function Field({ label, field, value, placeholder, set, problem = problems.value.get(field) }: FieldProps): JSX.Element {
  const id = `problem-${field}`;
  return (
    <span class="field">
      <input
        type="text"
        size={8}
        autocomplete="off"
        spellcheck={false}
        aria-label={label}
        placeholder={placeholder}
        value={value}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : id}
        onInput={(event) => set(event.currentTarget.value)}
      />
      {problem !== undefined && (
        <span class="bad" id={id} role="alert">
          {problem}
        </span>
      )}
    </span>
  );
}

interface SelectProps {
  label: string;
  value: string;
  /** The name of the empty value. */
  first: string;
  options: readonly string[];
  set: (value: string) => void;
}

function Select({ label, value, first, options, set }: SelectProps): JSX.Element {
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">{first}</option>
      {options.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** The options of the shown run, with a button that copies them into the form. */
function ShownRun(): JSX.Element | null {
  const current = run.value;
  if (!current) return null;
  const words = optionsInText(current.options);
  return (
    <span class="muted shown-options">
      {words.length === 0 ? "The shown run had the defaults." : `The shown run: ${words.join(" · ")}. `}
      {words.length > 0 && (
        <button type="button" class="link" onClick={() => takeOver(current.options)}>
          Copy into the form
        </button>
      )}
    </span>
  );
}
