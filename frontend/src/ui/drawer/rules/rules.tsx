// The tab "Toolchains & rules": the toolchains, with the reason where one is not usable, and their rule trees with the counts of the run.

import type { JSX } from "preact";
import { plural } from "../../../base/format";
import { isReport } from "../../../data/config";
import type { RuleTree, RunSpec, ToolchainInfo } from "../../../data/protocol";
import { hasEnded } from "../../../data/run/ended";
import { listedRule } from "../../../state/display";
import { toolchains } from "../../../state/model/catalogue";
import { isChanged } from "../../../state/run/options";
import { run } from "../../../state/run/run";
import { chooseTarget, HOST, rules, rulesPage, showInvalid, shownSpec, shownTarget, targets } from "../../../state/tables/rules";
import { Badge } from "../../widgets/badge";
import { Choice } from "../../widgets/choice";
import { ErrorCard } from "../../widgets/error_card";
import { WhyUnusable } from "../../widgets/why_unusable";
import { DescribedToolchain } from "./described";
import { OptionsForm } from "./options";
import { RejectedList } from "./rejected_list";
import { RuleTreeView } from "./rule_tree";
import "../../../style/rules.css";

export function RulesTab(): JSX.Element {
  return (
    <div class="filling">
      {!isReport && <Pages />}
      {rulesPage.value === "rules" ? <RulesOfToolchains /> : rulesPage.value === "options" ? <OptionsForm /> : <DescribedToolchain />}
    </div>
  );
}

function Pages(): JSX.Element {
  return (
    <div class="table-bar">
      <Choice
        label="Toolchains and rules"
        choices={[
          { id: "rules", content: "Rules", title: "The toolchains, and the candidates that their rules found and rejected" },
          { id: "options", content: "Options", title: "Options of the next run" },
          { id: "described", content: "Describe one", title: "How much faster would a plan be with a toolchain that is only described?" },
        ]}
        chosen={rulesPage.value}
        choose={(id) => (rulesPage.value = id)}
      />
      {isChanged.value && rulesPage.value !== "options" && <span class="muted">The options of the next run differ from those of this run.</span>}
    </div>
  );
}

function RulesOfToolchains(): JSX.Element {
  return (
    <div class="rules-body">
      <ToolchainList />
      <Rules />
      {listedRule.value && <RejectedList target={listedRule.value.target} rule={listedRule.value.rule} />}
    </div>
  );
}

function ToolchainList(): JSX.Element {
  return (
    <ul class="toolchain-list" aria-label="Toolchains">
      {targets.value.map((name) => (
        <Entry key={name} name={name} toolchain={toolchains.value.find((one) => one.name === name)} />
      ))}
    </ul>
  );
}

function Entry({ name, toolchain }: { name: string; toolchain: ToolchainInfo | undefined }): JSX.Element {
  const isShown = shownTarget.value === name;
  const isOff = toolchain ? !toolchain.usable : name !== HOST;
  return (
    <li>
      <button type="button" class="row" aria-pressed={isShown} onClick={() => chooseTarget(name)}>
        <span class="head">
          <Badge target={name} isOff={isOff} /> {name} <span class="muted">{toolchain?.version}</span>
        </span>
        <About name={name} toolchain={toolchain} />
      </button>
      {toolchain?.usable === false && <WhyUnusable toolchain={toolchain} />}
    </li>
  );
}

/** The device, precision and style of a toolchain. */
function About({ name, toolchain }: { name: string; toolchain: ToolchainInfo | undefined }): JSX.Element | null {
  if (name === HOST) return <span class="muted">passes references on; costs nothing</span>;
  if (!toolchain) return <span class="muted">in this run, but not here</span>;
  if (!toolchain.usable) return null;
  const precision = toolchain.precision === "model" ? "the model's precision" : toolchain.precision;
  return <span class="muted">{[toolchain.device, precision, `${toolchain.style} style`].filter(Boolean).join(" · ")}</span>;
}

function Rules(): JSX.Element {
  const state = rules.value;
  const spec = shownSpec.value;
  const tree = spec?.tree ?? toolchains.value.find((one) => one.name === shownTarget.value)?.tree ?? null;
  return (
    <section class="rule-tree" aria-label={`Rules of ${shownTarget.value}`}>
      {state.kind === "failed" && <ErrorCard error={state.error} />}
      {state.kind === "loading" ? <p class="muted">Loading the rules…</p> : <Heading spec={spec} tree={tree} />}
      {tree && state.kind !== "loading" && (
        <RuleTreeView key={`${run.value?.id ?? ""} ${shownTarget.value}`} tree={tree} target={shownTarget.value} hasCounts={spec !== null} />
      )}
    </section>
  );
}

/** The targets of the tree, and what its rules found. */
function Heading({ spec, tree }: { spec: RunSpec | null; tree: RuleTree | null }): JSX.Element {
  const target = shownTarget.value;
  if (!tree) return <p class="muted">{target === HOST ? "Its rules are shown with a run." : `${target} has no rules here.`}</p>;
  if (!spec) return <p class="muted">{whyNoCounts(target)}</p>;
  const merged = spec.merged[target] ?? 0;
  const invalid = Object.entries(spec.invalid[target] ?? {});
  const others = spec.targets.filter((one) => one !== target);
  return (
    <p>
      {others.length > 0 && `${others.join(" and ")} ${others.length === 1 ? "has" : "have"} the same rules, which ran once for all. `}
      <span class="muted">
        {[
          tree.deferred > 0 ? `${plural(tree.deferred, "candidate")} ${tree.deferred === 1 ? "waits" : "wait"}: they are measured only if partitions that touch are joined.` : "",
          merged > 0 ? `${plural(merged, "more")} came from joining partitions that touch.` : "",
        ].join(" ")}
      </span>{" "}
      {invalid.length > 0 && (
        <button type="button" class="link bad" title="Show them under Costs" onClick={() => showInvalid(target)}>
          {`${plural(invalid.reduce((all, [, times]) => all + times, 0), "candidate")} failed: ${invalid.map(([stage, times]) => `${stage} ${times}`).join(", ")}`}
        </button>
      )}
    </p>
  );
}

function whyNoCounts(target: string): string {
  const now = run.value;
  if (now && !hasEnded(now)) return "The run goes on; counts are here when it ends. These are the rules by default.";
  return now?.plan ? `This run did not use ${target}. These are its rules by default.` : "These are its rules by default; a run adds what each gave and rejected.";
}
