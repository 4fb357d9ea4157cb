// Generated from collage_server/messages and collage_core/events.py by `make protocol`. Do not edit.

/** The names of the phases, in order. */
export const PHASES = ["load", "specs", "candidates", "costs", "search", "merge", "rewrite", "verify", "baselines"] as const;

/** The state of a run. */
export type RunState = "queued" | "running" | "done" | "cancelled" | "failed" | "recorded";

/**
 * How tuning changed a cost.
 *
 * Attributes:
 *     digest: Name of the schedules (`Plan.tuning`).
 *     untuned_s: Seconds with the default schedules.
 *     spent_s: Seconds that tuning took, in all runs.
 *     trials: Number of schedules that were tried.
 */
export interface Tuned {
  digest: string;
  untuned_s: number;
  spent_s: number;
  trials: number;
}

/** How many sub-graphs a rule turned down at a stage, by one check. */
export interface RuleRejection {
  stage: string;
  check: string;
  count: number;
}

/**
 * A rule, what it gave and turned down in a run, and the rules below it (`collage_core.rules.spec`).
 *
 * Attributes:
 *     path: Names of the rules from the root to it: that of its candidates begins so, after the target's name.
 *     options: In words.
 *     candidates: Those whose path leads through it.
 *     deferred: Of them, those that are costed only where merging comes to them.
 *     is_shared: Another rule of the tree has the same path: the counts are of both.
 *     notes: Notes on the rule itself, such as a pattern that matches nothing.
 */
export interface RuleTree {
  path: string;
  rule: string;
  options: Record<string, string>;
  candidates: number;
  deferred: number;
  is_shared: boolean;
  rejected: RuleRejection[];
  notes: string[];
  of: RuleTree[];
}

/**
 * A tensor that the host or a node makes, as `Tensor.to_json` gives it.
 *
 * Attributes:
 *     shape: The size of each dimension; None where it depends on data.
 *     measured_shape: That of the reference run, where a dimension depends on data.
 *     largest_shape: With the largest size of such dimensions, None where that is not known; left out where none is known.
 *     symbols: In the graph of a file, where a size is None: every dimension as the file calls it, `?` without a name. A single `…`
 *         stands for dimensions whose number the file does not say.
 */
export interface TensorInfo {
  name: string;
  shape: (number | null)[];
  dtype: string;
  measured_shape?: number[] | null;
  largest_shape?: (number | null)[] | null;
  symbols?: string[] | null;
}

/** A node of the file that is not in the graph; `into` is the node that it became a part of, if any. */
export interface FoldedInfo {
  name: string;
  op: string;
  into: string | null;
}

/**
 * An attribute in an operator's definition.
 *
 * Attributes:
 *     default: As text; empty where it has none.
 */
export interface OperatorAttribute {
  name: string;
  type: string;
  required: boolean;
  default: string;
  doc: string;
}

/**
 * An input or output in an operator's definition.
 *
 * Attributes:
 *     types: The types that it may have.
 *     option: `single`, `optional` or `variadic`.
 */
export interface OperatorValue {
  name: string;
  types: string[];
  option: string;
  doc: string;
}

/**
 * The definition of an operator, in the version that the model imports.
 *
 * Attributes:
 *     since: The version in which it last changed.
 *     support: `stable`, `experimental`, `deprecated` or `local function`.
 */
export interface OperatorDefinition {
  op: string;
  since: number;
  support: string;
  doc: string;
  attributes: OperatorAttribute[];
  inputs: OperatorValue[];
  outputs: OperatorValue[];
}

/**
 * The model of a run.
 *
 * Attributes:
 *     nodes: How many.
 *     fixed: Inputs of the file that are constants here → their values.
 *     assumed: Dynamic dimensions of the file whose size nobody gave, by symbol or as `input[axis]` → the size that they have here.
 */
export interface RunModel {
  name: string;
  hash: string;
  nodes: number;
  inputs: TensorInfo[];
  outputs: TensorInfo[];
  fixed: Record<string, boolean | number | number | (boolean | number | number)[]>;
  assumed: Record<string, number>;
}

/**
 * Counts of one target: of candidates, and of distinct computations.
 *
 * Of a toolchain that looks at the weights' values, equal computations with other weights are known or measured on their own.
 *
 * Attributes:
 *     candidates: The one count that is of candidates.
 *     deferred: Measured only where merging comes to them.
 */
export interface DryRunTarget {
  name: string;
  candidates: number;
  unique: number;
  deferred: number;
  known: number;
  to_measure: number;
}

/** Counts of ordered pairs of targets between which a transition costs something: all of them, and those not known. */
export interface DryRunTransitions {
  pairs: number;
  to_measure: number;
}

/**
 * The work that a run would do before it has a plan; every time is an estimate.
 *
 * Attributes:
 *     builds_expected, builds_at_most: Candidates that are built and measured.
 *     seconds_expected, seconds_at_most: How long that takes.
 *     after_expected_s, after_at_most_s: How long building and timing whole plans takes after it.
 *     budget_s: The end of the run, whatever is left; None for none.
 *     tuning_s: The time for tuning kernels, on top of that; 0 where none is tuned.
 *     busy: That other processes take the cores now; empty where they do not.
 *     basis: What the seconds rest on, and what comes on top.
 *     shapes: Of a model of several shapes, the same for each by its name; the rest adds them up, apart from `model`.
 *     region, regions: Of a module of several regions, the name of this one, and the same for each of the others by its name.
 */
export interface DryRun {
  schema: number;
  dry_run: boolean;
  model: RunModel;
  targets: DryRunTarget[];
  transitions: DryRunTransitions;
  builds_at_most: number;
  builds_expected: number;
  seconds_at_most: number;
  seconds_expected: number;
  after_at_most_s: number;
  after_expected_s: number;
  budget_s: number | null;
  tuning_s: number;
  busy: string;
  basis: string;
  shapes?: Record<string, DryRun> | null;
  region?: string | null;
  regions?: Record<string, DryRun> | null;
}

/** The least that is said of a partition: the id of its candidate, its target and its nodes. */
export interface PlanPart {
  id: string;
  target: string;
  nodes: number[];
}

/**
 * Partitions of the plan, by their ids, and others of the same nodes: measuring could not tell which are faster.
 *
 * Attributes:
 *     above_s: By how much the plan takes longer with `instead`, as far as costs are known.
 *     could_gain_s: By how much it could become faster with them.
 */
export interface RivalInfo {
  partitions: string[];
  instead: PlanPart[];
  above_s: number;
  could_gain_s: number;
}

/**
 * A partition of the plan: its nodes by index and by name, its target, and its cost with the source of that cost.
 *
 * Attributes:
 *     cost_s: Seconds; None where the cost is unknown.
 *     spread_s: Half the inter-quartile range of the samples, in seconds.
 *     samples: Number of timed runs behind the cost.
 *     source: As in `Cost.source`.
 *     stability: Share of resamplings of the costs in which the partition stays chosen; None where no cost has an interval, and
 *         after a search over known costs, which does not resample.
 *     interval_s: As in `Cost.interval_s`.
 *     decided_by: `cost`; `priority` where the order of the targets decided, since costs could not; `whole` where it is in the
 *         plan since that was the fastest when timed end to end, though its sum is not the least.
 *     tuned: How its kernels were tuned; `Tuned.digest` is a key of `Plan.tuning`. None with the default schedules.
 *     label: The toolchain's name for what it computes (the labels of its composites), such as `conv2d_relu`; empty where it has none.
 *     location: The memory where it reads and makes its tensors; left out where that is the host's.
 */
export interface PlanPartition {
  id: string;
  target: string;
  nodes: number[];
  names: string[];
  ops: string[];
  cost_s: number | null;
  spread_s: number | null;
  samples: number;
  source: string;
  stability: number | null;
  interval_s: number | null;
  decided_by: string;
  tuned: Tuned | null;
  label: string;
  location?: string | null;
}

/**
 * A transition: a tensor that a partition (or the host) makes and another (or the host) reads.
 *
 * Attributes:
 *     maker, reader: Names of targets, or `host`; `from` and `to` in JSON.
 *     cost_s: Seconds.
 */
export interface PlanTransition {
  from: string;
  to: string;
  tensor: string;
  bytes: number;
  cost_s: number;
}

/**
 * A copy of a tensor between two locations; it serves all that read the tensor there.
 *
 * Attributes:
 *     source, destination: Locations, such as `host`; `from` and `to` in JSON.
 *     cost_s: Seconds.
 *     basis: What its time rests on, in words; empty in plans of older versions.
 */
export interface PlanCopy {
  from: string;
  to: string;
  tensor: string;
  bytes: number;
  cost_s: number;
  basis: string;
}

/**
 * The bytes of a plan at one location.
 *
 * Attributes:
 *     weights: Bytes of the initializers of its partitions there, each once however many share it.
 *     peak: The most that is held at once, `weights` among it.
 *     limit: What the location may hold; None for no limit.
 *     at_node, node: Index and name of the first node of the partition that runs at the peak.
 */
export interface PlanMemory {
  location: string;
  weights: number;
  peak: number;
  limit: number | null;
  at_node: number;
  node: string;
}

/**
 * The bound of what running partitions and copies at the same time could save, from the known costs.
 *
 * Attributes:
 *     total_s: The time of the plan one partition after another.
 *     critical_path_s: The longest chain of partitions and copies that wait for each other.
 *     work_s: Resource (a device, a direction of a link) → all the time for which it is busy.
 *     least_s: The largest of these: no schedule takes less.
 *     gain_at_most: The share of the total that is more than that.
 *     text: The bound as a sentence.
 */
export interface PlanParallel {
  total_s: number;
  critical_path_s: number;
  work_s: Record<string, number>;
  least_s: number;
  gain_at_most: number;
  text: string;
}

/**
 * A plan as the document of a run has it.
 *
 * Attributes:
 *     total_s: Predicted seconds of one inference.
 *     total_interval_s: Half of the 95 % interval of `total_s`; None where a cost in it has no interval.
 *     copies: The copies between locations; left out where all targets are at the host.
 *     memory: What each location holds; left out in plans of older versions, and so is `parallel`.
 *     free_transfers: Described targets in it whose descriptions do not say what transfers cost, so that these count as free; left out
 *         where there are none.
 */
export interface PlanInfo {
  total_s: number;
  total_interval_s: number | null;
  partitions: PlanPartition[];
  transitions: PlanTransition[];
  copies?: PlanCopy[] | null;
  memory?: PlanMemory[] | null;
  parallel?: PlanParallel | null;
  free_transfers?: string[] | null;
}

/** A target alone, `<target>+host`, `<target>:<source>`, or greedy; `total_s` is None where there is none, with the reason. */
export interface Baseline {
  name: string;
  total_s: number | null;
  measured_s: number | null;
  reason: string;
}

/**
 * The times of one plan, as far as they are known.
 *
 * Attributes:
 *     predicted_s: Its total; None where a cost in it is not known.
 *     predicted_interval_s: Half of the 95 % interval of `predicted_s`; None where that is not known.
 *     at_least_s: The total of the costs that are known, estimates from profiles left out.
 *     measured_s: Seconds timed end to end beside the plan of the run; None where it was not.
 *     interval_s: Half of the 95 % interval of `measured_s`; None where that is not known.
 *     unknown: How many of its costs are not known.
 *     least_ratio: How many times as long as the plan of the run it takes at least: by the lower end of its interval, or where it was so
 *         far behind in each of a few rounds that it was timed no further; None where that is not known.
 *     unexplained_s: What it takes timed end to end, less what its parts take alone; None where one of the two is not known.
 */
export interface PlanTime {
  predicted_s: number | null;
  predicted_interval_s: number | null;
  at_least_s: number;
  measured_s: number | null;
  interval_s: number | null;
  unknown: number;
  least_ratio: number | null;
  unexplained_s: number | null;
}

/**
 * How the time of a plan compares with that of the reference.
 *
 * Attributes:
 *     basis: Both times are `measured` or both `predicted`; `unknown` where neither pair is known.
 *     seconds, reference_s: The two times; None where `basis` is unknown.
 *     change_s: `seconds` less `reference_s`; None where that is not known.
 *     at_least_s: A proven lower bound of the change where it is not known; None where nothing is proven.
 *     interval_s: By how much the change may be off (95 %); None where that is not known.
 *     unexplained_s: Of a predicted change, by how much the reference takes longer as a whole than its parts; None where it was not
 *         measured. A change that is smaller says nothing of which plan is faster.
 *     least_ratio: Of a measured change, as in `PlanTime`.
 *     unknown: How many costs of the two plans are not known.
 */
export interface Statement {
  basis: "measured" | "predicted" | "unknown";
  seconds: number | null;
  reference_s: number | null;
  change_s: number | null;
  at_least_s: number | null;
  interval_s: number | null;
  unexplained_s: number | null;
  least_ratio: number | null;
  unknown: number;
}

/**
 * The first thing to know about a run.
 *
 * Attributes:
 *     kind: `faster` or `slower` than the best target alone, for a plan of several targets; `alone` where one target for the whole
 *         model is the plan; `undecided` where measuring could not tell; `unknown` where nothing can be compared; `wrong` where the
 *         plan errs too much.
 *     text: The sentence.
 *     is_good: The measured interval lies on one side of 1, and the plan is right: only then is it shown in green.
 *     against: The target alone that the plan is compared with, or the other plan that is nearest; empty where there is none.
 *     statement: The time of `against`, compared with that of the plan; None where nothing is compared.
 */
export interface Verdict {
  kind: "faster" | "slower" | "alone" | "undecided" | "unknown" | "wrong";
  text: string;
  is_good: boolean;
  against: string;
  statement: Statement | null;
}

/** A `TimedPlan` as events and the page have it: with the number of its partitions. */
export interface MeasuredPlan {
  name: string;
  kind: "search" | "rival" | "baseline";
  total_s: number | null;
  measured_s: number | null;
  interval_s: number | null;
  rounds: number;
  reason: string;
  is_plan: boolean;
  partitions: number;
}

/**
 * The assembled plan against the reference; None fields were not done.
 *
 * Attributes:
 *     measured_s: Seconds of one inference, measured end to end.
 *     additive_error_s: `measured_s` less the predicted time with each part as it was measured alone, before costs were corrected.
 *     explained_s: The part of `additive_error_s` by which costs were corrected to those inside the whole; None where none was.
 *     max_rel_error: The largest of all outputs, which may be infinite. The page gets None in place of what is no number.
 *     accuracy: The largest relative error that was allowed.
 *     reference: The reference, and what was compared with it, in words.
 *     errors: Largest relative error of each output, as `max_rel_error`.
 *     interval_s: Half of the 95 % interval of `measured_s`; None where too few rounds, or none beside other plans, measured it.
 *     apart: It was measured by itself, later than the baselines and perhaps on another machine: no ratio may hold both.
 *     gap: That `measured_s` is off the predicted total beyond both intervals, and the likely reason; empty where it is not.
 */
export interface VerifyInfo {
  measured_s: number | null;
  additive_error_s: number | null;
  max_rel_error: number | null;
  accuracy: number | null;
  reference: string | null;
  errors: Record<string, number | null>;
  interval_s: number | null;
  apart: boolean;
  gap: string;
  explained_s: number | null;
}

/** The phase in which a run was stopped that kept its best plan, and what is missing, one sentence each. */
export interface CancelledInfo {
  phase: string;
  missing: string[];
}

/**
 * A row of the leaderboard.
 *
 * Attributes:
 *     name: Of a target alone, or `MIX`.
 *     total_s: Of a target alone the time of its largest candidate, of the mix the predicted one; None where that is not known.
 *     interval_s: Half of its 95 % interval; None where that is not known.
 *     measured_s: Its time as a whole plan, timed end to end; None before that.
 *     nodes: Number of nodes that `total_s` is of, of all `of`; 0 before it is known.
 *     targets: Of the mix, those that have a part of it.
 *     partitions: Of the mix.
 *     reason: Why there is no time; empty where there is one, or none yet.
 */
export interface Leader {
  name: string;
  total_s: number | null;
  interval_s: number | null;
  measured_s: number | null;
  nodes: number;
  of: number;
  targets: string[];
  partitions: number;
  reason: string;
}

/**
 * The basis of an estimate for a target that is only described: the candidate's work, and the target's stated speed.
 *
 * The cost is `launch_s` and the longer of `operations` at `operations_per_s` and `bytes` at `bytes_per_s`.
 *
 * Attributes:
 *     operations_per_s, bytes_per_s: None where the description leaves them out; then they bound nothing.
 *     has_transfers: It says what transfers cost; else they count as free.
 */
export interface EstimateBasisJson {
  operations: number;
  bytes: number;
  launch_s: number;
  operations_per_s: number | null;
  bytes_per_s: number | null;
  has_transfers: boolean;
}

/**
 * One row of `GET /api/v1/runs/<id>/candidates?node=<index>`: a candidate that holds the node.
 *
 * Attributes:
 *     times: How many candidates of the target are this computation.
 *     estimate_basis: The basis of the cost, for a target that is only described.
 *     chosen: It is in the plan.
 *     over_budget: Why the plan's errors leave no room for its own; empty where they do, or it computes in the model's precision.
 *     regret_s: Time of the best plan that holds it, less that of the run's plan, never below 0; None where not known or in no plan.
 *     regret_at_least_s: A proven lower bound of it, where it is not known exactly; else the same.
 *     rests_on_unknown: It is not known exactly since a cost in one of the two plans is unknown, or since the run found that sums do
 *         not decide and that plan was not timed end to end; else since it takes too long.
 *     regret_basis: `measured` where both plans were timed end to end, `estimated` where one of them rests on an estimate from a
 *         profile, else `predicted`.
 */
export interface NodeCandidate {
  id: string;
  target: string;
  label: string;
  nodes: number[];
  rule: string;
  times: number;
  cost: Cost;
  estimate_basis: EstimateBasisJson | null;
  chosen: boolean;
  over_budget: string;
  regret_s: number | null;
  regret_at_least_s: number | null;
  rests_on_unknown: boolean;
  regret_basis: string;
}

/** A target that has no usable candidate for the node, or a sub-graph that was rejected, with the stage and the reason. */
export interface NodeRejection {
  target: string;
  nodes: number[];
  stage: string;
  reason: string;
}

/**
 * An input or output of the model.
 *
 * Attributes:
 *     dimensions: A size, a symbol, or `?` for each; null where the file does not say how many there are.
 *     doc: What the file says of it.
 */
export interface ViewedTensor {
  name: string;
  dtype: string;
  dimensions: string[] | null;
  doc: string;
}

/** How many values lie in each of equal intervals from `low` to `high`. */
export interface Histogram {
  low: number;
  high: number;
  counts: number[];
}

/**
 * Another size of a device's memory, and another speed of its links.
 *
 * Attributes:
 *     memory: Bytes that it may hold; None for what it may hold anyway.
 *     link: Times the speed of each copy to it and from it.
 */
export interface DeviceTerms {
  memory: number | null;
  link: number;
}

/** A partition of a plan that is compared: fields as in `PlanPartition`. */
export interface ShownPart {
  id: string;
  target: string;
  nodes: number[];
  cost_s: number | null;
  interval_s: number | null;
  source: string;
}

/**
 * A plan that is compared.
 *
 * Attributes:
 *     transitions_s: The part of its predicted time that transitions and copies take.
 *     run: The run in which it was timed end to end; empty where it was not.
 *     is_plan: It is the plan that `run` decided on, with which the other plans of that run were timed in turns.
 */
export interface ShownPlan {
  parts: ShownPart[];
  transitions_s: number;
  time: PlanTime;
  run: string;
  is_plan: boolean;
}

/** A time of the first plan and of the second, and how they compare; `change` is `change_s` in words. */
export interface TwoTimes {
  first_s: number | null;
  second_s: number | null;
  change_s: number | null;
  change: string;
}

/**
 * A smallest set of nodes that is whole partitions of both plans, which are named by their ids.
 *
 * Attributes:
 *     kind: As in `ComparedRegion`.
 *     cost: Its cost in both plans.
 *     is_change: Targets, partitions or costs differ.
 */
export interface TwoRegions {
  kind: "moved" | "recut" | "same";
  nodes: number[];
  first: string[];
  second: string[];
  cost: TwoTimes;
  is_change: boolean;
}

/**
 * A rule tree of a run, and the targets that share it: its rules ran once for all of them.
 *
 * Attributes:
 *     merged: Target → further candidates, made of neighbours after a search.
 *     invalid: Target → stage → how many of its candidates failed there.
 */
export interface RunSpec {
  targets: string[];
  tree: RuleTree;
  merged: Record<string, number>;
  invalid: Record<string, Record<string, number>>;
}

/**
 * Nodes that one kernel computes together, or a single node.
 *
 * Attributes:
 *     nodes: Their indices in the model, ascending.
 *     share: Their share of the time of the partition, from 0 to 1.
 *     seconds: That share of the partition's cost; None where the cost is not known.
 *     kernel: The toolchain's word for what it runs; empty where nobody told.
 */
export interface NodeGroupTime {
  nodes: number[];
  share: number;
  seconds: number | null;
  kernel: string;
}

/**
 * Times inside one partition.
 *
 * Attributes:
 *     partition: Its id.
 *     source: Where the shares come from: `profiler`, `candidates` (the costs of its nodes, each alone on its target, so without
 *         what the toolchain saves by fusing them), `cost` (it is a single node), or `none`.
 *     groups: Every node is in one of them; none where the source is `none`.
 *     rest_share: The share that belongs to no node.
 *     profiled_s: Seconds that the kernels took together while they were profiled, or the candidates take together; None without any.
 *     reason: Why no profiler gave the times; where one did, when it was, if that was not in the run.
 */
export interface PartitionNodeTimes {
  partition: string;
  source: "profiler" | "candidates" | "cost" | "none";
  groups: NodeGroupTime[];
  rest_share: number;
  profiled_s: number | null;
  reason: string;
}

/** A partition of the plan of a shape, with its nodes by index in the graph at that shape. */
export interface ShapePartition {
  target: string;
  nodes: number[];
}

/**
 * One of the shapes that a run planned for.
 *
 * Attributes:
 *     name: The shape in a few words, such as `seq=64`.
 *     weight: Its share of the calls.
 *     loses_s: By how many seconds the best plan of this shape is slower at each of the shapes than the best one there; None where it
 *         cannot be, and empty where that is not known.
 */
export interface RunShape {
  name: string;
  weight: number;
  total_s: number;
  measured_s: number | null;
  partitions: ShapePartition[];
  loses_s: (number | null)[];
}

/**
 * One plan for all shapes, or one for each range.
 *
 * Attributes:
 *     total_s: Predicted, as the weighted mean over the shapes; None where there is no such answer.
 *     measured_s: The same, timed end to end.
 *     reason: Why there is no such answer.
 */
export interface ShapesAnswer {
  total_s: number | null;
  measured_s: number | null;
  reason: string;
}

/**
 * The sizes between which one plan takes over from another.
 *
 * Attributes:
 *     after: Index of the shape before it.
 *     dimension: Name of the dimension that differs.
 *     below: Largest size that is known to be the first plan's.
 *     above: Least size that is known to be the second's.
 */
export interface ShapesCrossover {
  after: number;
  dimension: string;
  below: number;
  above: number;
}

/** A node of a body; `reads` are the indices of the nodes whose tensors it reads. */
export interface BodyNode {
  name: string;
  op: string;
  reads: number[];
}

/** A partition of a body's plan; `cost_s` is None where it is not known. */
export interface BodyPartition {
  target: string;
  nodes: number[];
  cost_s: number | null;
}

/**
 * A body of a node.
 *
 * Attributes:
 *     attribute: The attribute of the node that it is: `body`, `then_branch` or `else_branch`.
 *     runs: How often it ran, in all, in the reference run on the inputs of the run.
 *     total_s: The cost of its plan for one run.
 *     inner: Nodes of it that have bodies themselves.
 */
export interface BodyInfo {
  attribute: string;
  runs: number;
  total_s: number;
  nodes: BodyNode[];
  partitions: BodyPartition[];
  inner: ControlNode[];
}

/**
 * A node with bodies.
 *
 * Attributes:
 *     node: Its index.
 *     runs_on: The target of its partition; `host` where its bodies run by their own plans.
 *     host_s: Its cost on the host; None where there is none.
 *     host_is_measured: Whether that is measured.
 *     host_reason: Why the host cannot run it; empty where it can.
 *     bodies: Those that were planned.
 */
export interface ControlNode {
  node: number;
  name: string;
  op: string;
  runs_on: string;
  host_s: number | null;
  host_is_measured: boolean;
  host_reason: string;
  bodies: BodyInfo[];
}

/**
 * The best plan over some targets.
 *
 * Attributes:
 *     targets: In the order of the run's.
 *     used: Those to which the plan gives nodes.
 *     total_s: Predicted seconds; None where these targets make up no plan, or a cost of it is not known.
 *     measured_s: Seconds of the plan timed end to end beside that of the run; None where it was not.
 *     partitions: Of the plan, those of the host not counted.
 *     is_known: Whether every cost in the plan was measured to its end, or came from where all costs of the run come from.
 *     against: How the plan compares with that of the run; None where there is no plan.
 *     text: The time and what it rests on, in words.
 */
export interface TargetSet {
  targets: string[];
  used: string[];
  total_s: number | null;
  measured_s: number | null;
  partitions: number;
  is_known: boolean;
  against: Statement | null;
  text: string;
}

/**
 * The best set of so many targets, which all get nodes.
 *
 * Attributes:
 *     total_s, measured_s, is_known: As in `TargetSet`.
 *     gain: The best set of fewer targets, compared with this one; None for the first.
 *     text: The targets, their time and what the last of them brings, in words.
 */
export interface TargetStep {
  targets: string[];
  total_s: number | null;
  measured_s: number | null;
  gain: Statement | null;
  is_known: boolean;
  text: string;
}

/**
 * A plan of a run with its time.
 *
 * Attributes:
 *     kind: `plan` for the plan of the run; the others as in `TimedPlan`.
 *     rounds: How many times it was timed in turns with the plan; 0 where it was not.
 *     reason: Why it has no time; empty where it has one.
 *     against: How it compares with the plan of the run, in words; empty where nobody knows, and for the plan itself.
 */
export interface TotalRow {
  name: string;
  kind: "plan" | "search" | "rival" | "baseline";
  time: PlanTime;
  rounds: number;
  reason: string;
  against: string;
}

/** A partition of the plan, and the share of searches with costs varied within their intervals in which it stays chosen. */
export interface StablePart {
  id: string;
  target: string;
  nodes: number[];
  ops: string[];
  cost_s: number | null;
  interval_s: number | null;
  stability: number | null;
  decided_by: string;
  source: string;
}

/** A partition of one side of an undecided choice; `cost_s` in seconds, `interval_s` half of its 95 % interval. */
export interface UndecidedPart {
  id: string;
  target: string;
  nodes: number[];
  ops: string[];
  cost_s: number | null;
  interval_s: number | null;
}

/**
 * The measuring that would decide a choice.
 *
 * Attributes:
 *     repetitions: Of all computations together.
 *     is_enough: False where even the most repetitions may leave it open.
 *     is_assumed: How long a trial takes is assumed.
 */
export interface DecisionNeeds {
  seconds: number;
  repetitions: number;
  computations: number;
  is_enough: boolean;
  is_assumed: boolean;
}

/**
 * Partitions of the plan, and others that could be better by more than anybody cares.
 *
 * Attributes:
 *     above_s: By how many seconds the others are slower on known costs.
 *     width_s: By how much that may be off.
 *     could_gain_s: By how many seconds the plan could become faster with the others.
 */
export interface UndecidedRival {
  plan: UndecidedPart[];
  instead: UndecidedPart[];
  above_s: number;
  width_s: number;
  could_gain_s: number;
  needs: DecisionNeeds;
}

/**
 * How many of the costs of a run nobody knows.
 *
 * Attributes:
 *     costs: Of candidates that a plan may hold; those of the host are not counted.
 *     text: The same in words, with what is not known therefore.
 */
export interface UnknownCosts {
  unknown: number;
  costs: number;
  text: string;
}

/** The regret of a candidate; fields as in `NodeCandidate`, and `in_no_plan`: it is known that no plan holds it. */
export interface CandidateRegret {
  id: string;
  regret_s: number | null;
  regret_at_least_s: number | null;
  rests_on_unknown: boolean;
  in_no_plan: boolean;
  regret_basis: string;
}

/**
 * The effect of one of the terms.
 *
 * Attributes:
 *     alone: The best plan under it alone, compared with the best one under none; None where no plan holds it.
 *     saves: The best plan under all terms, compared with the best one under all others; None where no plan holds them.
 *     refuses: How many candidates it forbids.
 *     text: The same in words.
 */
export interface Effect {
  alone: Statement | null;
  saves: Statement | null;
  refuses: number;
  text: string;
}

/**
 * A cost that the user typed in.
 *
 * Attributes:
 *     seconds: What was typed.
 *     before: The cost that the run knows.
 *     equal: How many candidates cost as much: those of the same computation and target.
 */
export interface TypedCost {
  id: string;
  target: string;
  label: string;
  nodes: number[];
  seconds: number;
  before: Cost;
  equal: number;
}

/**
 * The nodes of a target under other terms, and what it brings.
 *
 * Attributes:
 *     nodes, nodes_before: How many nodes it has in the best plan under the terms, and in the plan of the run that measured.
 *     untimed: Candidates that are accurate enough now, and that nobody has timed.
 *     brings_s: What the plan would lose without it; None where it has no node, there is no plan without it, or that takes too long.
 */
export interface TargetUnderTerms {
  target: string;
  nodes: number;
  nodes_before: number;
  untimed: number;
  brings_s: number | null;
}

/** A part of a given plan whose cost is not known to its end, with the reason. */
export interface UnknownPart {
  id: string;
  target: string;
  nodes: number[];
  names: string[];
  reason: string;
}

/**
 * The best plan for some sizes of a memory, or some speeds of a link.
 *
 * Attributes:
 *     first, last: The smallest and the largest: bytes, or times the speed of now.
 *     first_s, last_s: The predicted total at both.
 *     is_exact: No plan is better, which is proven.
 *     nodes: Those that are on the device.
 *     copied: The tensors that are copied to it or from it: the cut.
 *     copied_bytes: The bytes of all these copies.
 */
export interface DevicePiece {
  first: number;
  last: number;
  first_s: number;
  last_s: number;
  is_exact: boolean;
  nodes: number[];
  copied: string[];
  copied_bytes: number;
}

/**
 * A partition inside the whole, or several functions of the module in a row, which are timed together.
 *
 * Attributes:
 *     id: The ids of its partitions, joined by `+`.
 *     nodes: How many.
 *     first: Name of its first node.
 *     partitions: How many.
 *     seconds: Measured inside the whole.
 *     predicted_s, interval_s: As the plan says; None where it does not.
 *     difference_s: The measured less the predicted time.
 */
export interface InsideTime {
  id: string;
  target: string;
  nodes: number;
  first: string;
  partitions: number;
  seconds: number;
  predicted_s: number | null;
  interval_s: number | null;
  difference_s: number | null;
}

/**
 * A cost in seconds, or the reason why there is none.
 *
 * Attributes:
 *     seconds: The percentile of the samples that was asked for; None where the cost is unknown or invalid.
 *     spread_s: Half the distance between the first and the third quartile of the samples; None where there is none.
 *     samples: Number of timed runs behind it (0 where it was not measured).
 *     source: `measured`, `recorded` (replayed from a named measurement), `mock`, `estimate`, `profile` (expected from what the
 *         target's own profiler told of the nodes; not measured), `bound` (a heuristic lower bound that stands for a cost that was not
 *         measured), `typed` (by the user, in a what-if), `host` (nothing to run), `invalid` or `unknown`.
 *     stage: Stage at which an invalid one failed: import, build, run, numerics, device or predicate.
 *     reason: Why it is invalid or unknown, in the toolchain's own words; of a known one, where it was measured if not alone.
 *     alone_s: Seconds of its own trial, where `seconds` was corrected to what it takes inside the whole plan.
 *     stopped_early: The trial was ended because it was sure to lose: the cost is that of the few runs so far.
 *     error: Largest relative error against the reference while it was measured, if it was compared.
 *     interval_s: Half of the 95 % interval: by how much `seconds` may be off either way; None where that is not known.
 *     tuned: How tuning changed it; None with the default schedules.
 */
export interface Cost {
  seconds: number | null;
  source: string;
  spread_s: number | null;
  samples: number;
  stage: string;
  reason: string;
  stopped_early: boolean;
  error: number | null;
  interval_s: number | null;
  tuned: Tuned | null;
  alone_s: number | null;
}

/** Body of every error answer, under the key `error`. */
export interface ApiError {
  code: string;
  message: string;
  hint: string;
}

/**
 * A region of a Relax module, as it is offered to be opened.
 *
 * Attributes:
 *     name: Such as `main.0`.
 *     function: Name of its function.
 *     block: Index of its dataflow block in the function.
 *     nodes: Number of its nodes.
 */
export interface RegionChoice {
  name: string;
  function: string;
  block: number;
  nodes: number;
}

/**
 * An input of a model whose sizes, or whose value, can be said when it is opened.
 *
 * Attributes:
 *     dimensions: A size where the model fixes it, else a symbol, or `?`; null where the model says no number of dimensions. Dimensions
 *         with the same symbol have the same size; `a = b` stands for two that the model takes only together.
 *     sizes: Proposed sizes, one for each dimension.
 *     is_asked: Whether a size of it must be said; a batch is 1 unless said.
 *     takes_value: Whether its value can be fixed (`OpenModel.values`).
 *     value: A value that the model compares it with; empty where none is known.
 */
export interface OpenInputJson {
  name: string;
  dtype: string;
  dimensions: string[] | null;
  sizes: number[];
  is_asked: boolean;
  takes_value: boolean;
  value: string;
}

/**
 * Every answer whose status is 400 or more.
 *
 * Attributes:
 *     choices: Paths of models, one of which is to be opened in place of the folder that was named; left out where there are none.
 *     regions: Regions of the Relax module, one of which is to be opened, the largest first; left out where there are none.
 *     inputs: Inputs of the model, of which sizes are to be said, or a value can be; left out where no size is missing.
 */
export interface ErrorBody {
  error: ApiError;
  choices?: string[];
  regions?: RegionChoice[];
  inputs?: OpenInputJson[];
}

/**
 * Sent by a client that opens a run. `after` is the number of the last event that it has, 0 for none.
 *
 * Attributes:
 *     to: The run's events (`Batch`), or its snapshot (`Change`); then `after` is the `RunSnapshot.seq` that the client has.
 */
export interface Subscribe {
  run: string;
  after?: number;
  to?: "events" | "snapshot";
}

/** Answers `Subscribe`: `seq` is the number of the newest event. */
export interface Subscribed {
  run: string;
  seq: number;
}

/** An event and its number in the run, from 1. `at_s`: on the run's clock, which counts seconds from when it was created. */
export interface Numbered {
  seq: number;
  event: RunEvent;
  at_s: number;
}

/**
 * Some numbered events of a run, in order. `gap` says that events before them were lost: fetch a snapshot.
 *
 * Attributes:
 *     after: Every event up to this number was sent before, is left out for being thinnable, or is lost (`gap`).
 *     now_s: The time on the run's clock when this is sent.
 */
export interface Batch {
  run: string;
  items: Numbered[];
  gap: boolean;
  after: number;
  now_s: number;
}

/** An operation of JSON Patch (RFC 6902) on a snapshot. `path` is a JSON Pointer, empty for the whole; `remove` has no value. */
export interface PatchOperation {
  op: "add" | "remove" | "replace";
  path: string;
  value?: unknown;
}

/**
 * The difference between two snapshots of a run.
 *
 * Attributes:
 *     after: The `RunSnapshot.seq` of the snapshot that `patch` changes; None where it replaces the whole, whatever the client has.
 */
export interface Change {
  run: string;
  after: number | null;
  patch: PatchOperation[];
}

/**
 * Facts that a report gives about itself.
 *
 * Attributes:
 *     written: When it was written, as ISO 8601, UTC.
 *     run: Id of its run.
 *     machine: The machine that measured the costs of the run.
 *     versions: Name of each target → its version in the run.
 */
export interface ReportInfo {
  written: string;
  run: string;
  machine: string;
  versions: Record<string, string>;
}

/**
 * The configuration of the page: the JSON in the attribute `data-config` of its `#app` element.
 *
 * Attributes:
 *     prefix: Path under which everything lies, such as `/tools/collage`; empty at the root. No slash at its end.
 *     model: Id of the model to open when the address names nothing.
 *     run: Id of the run to show with it; None for the recorded one of a sample, or none.
 *     local_paths: Models may be opened by their path on the server's machine, and files that are programs.
 *     upload_bytes: Largest upload that is accepted, all files together.
 *     report: Of a report, which brings all of its data with it and asks no server; None for the page of a server.
 */
export interface PageConfig {
  version: string;
  prefix: string;
  model: string | null;
  local_paths: boolean;
  upload_bytes: number;
  run: string | null;
  report: ReportInfo | null;
}

/**
 * A toolchain that is installed or could be.
 *
 * Attributes:
 *     reason: Why it is not usable.
 *     hint: The command that mends that.
 *     described: It is only described, by a text that was saved: its costs are estimates, and nothing can be built for it.
 *     lowers_precision: It computes in less precision than the model asks for, as its name says.
 *     tunes: Its kernels can be tuned.
 *     rules: Its rule tree, as text; if it has none, the reason.
 *     tree: The same as data, with counts of 0; None where it has none.
 */
export interface ToolchainInfo {
  name: string;
  letter: string;
  style: string;
  usable: boolean;
  version: string;
  reason: string;
  hint: string;
  device: string;
  precision: string;
  rules: string;
  tree: RuleTree | null;
  described: boolean;
  lowers_precision: boolean;
  tunes: boolean;
}

/** `GET /api/v1/toolchains`: those that are installed, then those that are only described. */
export interface ToolchainList {
  toolchains: ToolchainInfo[];
}

/** A described toolchain that was saved; `text` is TOML, as for `--toolchain` (docs/files.md, "A described toolchain"). */
export interface Description {
  name: string;
  text: string;
}

/** `GET /api/v1/described`. */
export interface DescriptionList {
  toolchains: Description[];
}

/** Body of `POST /api/v1/described`, which saves it under its own name, and of `POST /api/v1/described/check`. */
export interface DescriptionText {
  text: string;
}

/** A mistake in a description; `line` is counted from 1. */
export interface DescriptionMistake {
  line: number;
  message: string;
  hint: string;
}

/**
 * `POST /api/v1/described/check`: how a description reads; nothing is kept.
 *
 * Attributes:
 *     name: Its own name; None if it cannot be read.
 *     tree: Its rules.
 *     has_cost: It has a `[cost]`, so its costs can be estimated.
 */
export interface DescriptionCheck {
  name: string | null;
  mistake: DescriptionMistake | null;
  tree: RuleTree | null;
  has_cost: boolean;
}

/**
 * A bundled model.
 *
 * Attributes:
 *     recorded: Id of the recorded run that comes with it, if any.
 *     result: Of that run.
 */
export interface SampleInfo {
  name: string;
  title: string;
  description: string;
  recorded: string | null;
  result: PlanResult | null;
}

/** `GET /api/v1/samples`. */
export interface SampleList {
  samples: SampleInfo[];
}

/**
 * A weight or other constant, as `Constant.to_json` gives it; `value` only where it is small and shapes the computation.
 *
 * Here and in attributes an integer that a double would round is its text.
 */
export interface ConstantJson {
  shape: number[];
  dtype: string;
  value: (number | boolean | string)[] | null;
}

/**
 * A graph in an attribute of a node, or, where the attribute is empty, the local function that the node calls.
 *
 * Attributes:
 *     scope: As `FileGraph.scope`.
 *     nodes: The number of its nodes.
 */
export interface BodyLink {
  attribute: string;
  scope: string;
  nodes: number;
}

/**
 * A node of the graph, as `Node.to_json` gives it.
 *
 * An attribute that is a tensor is `{"tensor": digest}`; in the graph of a file it has `shape`, `dtype` and its first `value` too.
 *
 * Attributes:
 *     id: Its index in the order of the graph.
 *     kind: E < B < I < R < A < O.
 *     inputs: Names of tensors and constants; empty where an optional one is absent.
 *     absorbed: Names of the user's other nodes that folding fused into this one.
 *     host: It only reshuffles references and is not placed.
 *     captured: How many of its last inputs only its bodies read; left out where none are.
 *     bodies: The graphs in it, in the graph of a file; left out where there are none.
 */
export interface NodeJson {
  id: number;
  name: string;
  op: string;
  kind: string;
  inputs: string[];
  outputs: TensorInfo[];
  attributes: Record<string, unknown>;
  absorbed: string[];
  host: boolean;
  captured?: number | null;
  bodies?: BodyLink[] | null;
}

/** The dataflow graph, as `DataflowGraph.to_json` gives it: edges follow from the tensors' names. */
export interface GraphJson {
  nodes: NodeJson[];
  inputs: TensorInfo[];
  outputs: string[];
  constants: Record<string, ConstantJson>;
}

/**
 * The names of an operator's inputs in its definition.
 *
 * Attributes:
 *     names: In order.
 *     rest: The name of each further input; None where there are none, or where inner graphs read the further ones.
 */
export interface FormalInputsJson {
  names: string[];
  rest: string | null;
}

/**
 * JSON body of `POST /api/v1/models`: exactly one of `sample`, `path` and `again`; answered with a `ModelInfo`.
 *
 * An upload is multipart instead: a part `file` for the model and one for each file of its external data, and
 * `shapes`, `values`, `region` and `trust` as JSON text.
 *
 * Attributes:
 *     path: A file on the server's machine; only where `PageConfig.local_paths` says so.
 *     again: Id of a model that was opened before: what lies there now is opened, with the same shapes and values unless others are
 *         given.
 *     shapes: Input name to shape, such as `{"x": [1, 3, 224, 224]}`.
 *     values: Input name to the value that it always has, such as `{"sr": "16000"}`: it becomes a constant. Elements of a vector
 *         have commas between.
 *     region: Of a Relax module the name of the region to open, such as `main.0`. Where several are to choose from and none is named,
 *         the answer is an error with `ErrorBody.regions`. With `again` it is the one that was opened unless given; an empty text asks.
 *     trust: The user trusts whoever wrote the file, which is a program. Where one is not trusted, the answer is the error `asks_trust`.
 */
export interface OpenModel {
  sample?: string | null;
  path?: string | null;
  again?: string | null;
  shapes?: Record<string, number[]>;
  values?: Record<string, string> | null;
  region?: string | null;
  trust?: boolean;
}

/**
 * `GET /api/v1/models/<id>`: a model that was opened.
 *
 * Attributes:
 *     id: The model's hash.
 *     folded: How many of the user's nodes were folded away.
 *     size_bytes: The file with its external data.
 *     sample: Name of the bundled model that it is, if it is one.
 *     stale: The file was changed or removed since; open it again.
 *     opened: When it was opened last, as ISO 8601.
 *     values: The inputs that were fixed to a value, which are no `inputs`, as in `OpenModel`.
 *     dimensions: Input → its dimensions as the file has them: a size where it is fixed, else a symbol, or `?`. Inputs of which the
 *         file says nothing are missing.
 *     accuracy: The largest relative error at which a result counts as right, unless a run says another.
 *     region: Name of the region of a Relax module that it is, where it was chosen from several.
 *     is_missing: It came in a session that has its hash alone: runs can be looked at, and opening its file completes it.
 *     refusal: Why there can be no run of it as it was opened, and which sizes and values may be said; null where there can. Its graph is
 *         then that of the file.
 *     is_onnx: Its file is ONNX, so that `…/file` has its graph.
 */
export interface ModelInfo {
  id: string;
  name: string;
  nodes: number;
  folded: number;
  inputs: TensorInfo[];
  outputs: TensorInfo[];
  size_bytes: number;
  quantised: boolean;
  sample: string | null;
  stale: boolean;
  opened: string;
  values: Record<string, string>;
  dimensions: Record<string, string[]>;
  accuracy: number;
  region: string | null;
  is_missing: boolean;
  refusal: ErrorBody | null;
  is_onnx: boolean;
}

/**
 * `GET /api/v1/models`, newest first.
 *
 * Attributes:
 *     results: Id of a model → the fastest result of its runs, where there is one.
 */
export interface ModelList {
  models: ModelInfo[];
  results: Record<string, PlanResult>;
}

/**
 * `GET /api/v1/models/<id>/graph`: the graph as `DataflowGraph.to_json` gives it, and what was folded away.
 *
 * Attributes:
 *     formal: Of each operator whose definition is known, by `NodeJson.op`.
 */
export interface ModelGraph {
  id: string;
  graph: GraphJson;
  folded: FoldedInfo[];
  formal: Record<string, FormalInputsJson>;
}

/**
 * Nodes that follow one another and can be shown as one.
 *
 * Attributes:
 *     first: The first node; the group holds `count` of them.
 *     times: How many equal blocks they are, one after the other; 1 where they are no repeat.
 *     is_alike: The blocks have the same operators and edges, and other sizes.
 */
export interface NodeGroupJson {
  first: number;
  count: number;
  name: string;
  times: number;
  is_alike: boolean;
}

/**
 * `GET /api/v1/models/<id>/groups`: ways to show a large model as few boxes.
 *
 * Attributes:
 *     repeats: Repeated blocks; no two overlap.
 *     scopes: The scopes of the nodes' names as a tree: a group stands before those inside it.
 *     sections: The whole model as some hundred stretches, cut where few tensors pass.
 */
export interface ModelGroups {
  id: string;
  repeats: NodeGroupJson[];
  scopes: NodeGroupJson[];
  sections: NodeGroupJson[];
}

/** `GET /api/v1/models/<id>/operators`: the definitions of the operators in the model's file, by name. */
export interface ModelOperators {
  operators: OperatorDefinition[];
}

/** A graph of a file, on the path to another: `scope` is empty for the model's own. */
export interface ScopeLink {
  scope: string;
  title: string;
}

/**
 * `GET /api/v1/models/<id>/file?scope=…`: a graph of the model's file as the file has it: nothing is fixed or folded.
 *
 * Attributes:
 *     scope: Empty for the model's own graph; else as in `BodyLink`.
 *     path: The graphs around it, from the model's own on, and itself.
 *     docs: Input, output or weight → what the file says of it.
 */
export interface FileGraph {
  id: string;
  scope: string;
  path: ScopeLink[];
  graph: GraphJson;
  formal: Record<string, FormalInputsJson>;
  groups: ModelGroups;
  docs: Record<string, string>;
}

/**
 * `GET` and `PUT /api/v1/models/<id>/layouts/<key>`: the positions of boxes and edges, as some page laid them out.
 *
 * The key is the page's digest of everything that the layout depends on: sizes, edges and their order.
 *
 * Attributes:
 *     centres: x, y of each box.
 *     points: x, y of all points of all edges, one edge after another.
 *     offsets: Per edge where its points begin in `points`; one more entry at the end.
 *     labels: Per edge x, y of its label's centre; null twice where it has none.
 */
export interface LayoutJson {
  centres: number[];
  points: number[];
  offsets: number[];
  labels: (number | null)[];
}

/** Nodes that are drawn together, with a border of a colour, `#rrggbb`. */
export interface DotCluster {
  label: string;
  colour: string;
  nodes: number[];
}

/**
 * Body of `POST /api/v1/models/<id>/dot`; answered with the graph as DOT, for Graphviz.
 *
 * Attributes:
 *     fills: The colour of each node, in order, `#rrggbb` or None; empty for none.
 *     clusters: `DotCluster`s.
 */
export interface DotRequest {
  title: string;
  fills: (string | null)[];
  clusters: Record<string, unknown>[];
}

/**
 * Options of a run, the same as those of `collage partition`; the engine has its own default for each that is left out.
 *
 * In an option that names targets, the empty name stands for all others.
 *
 * Attributes:
 *     accuracy: Largest relative error; None for the default of the model, or that of the base.
 *     value_policy: What must be right of NaN and infinities: `finite` or `any`; None for `finite`.
 *     budget_s: To the answer; None for what the size of the model suggests.
 *     tune_s: For tuning kernels, on top of that; None for no tuning.
 *     time_limit_s: Of each search; None for none.
 *     max_depth: Target → bound on every candidate of its rules.
 *     max_exits: Target → exits of combined candidates.
 *     taps: Targets whose combined candidates may be read inside and outside.
 *     fusion: Target → how its calls combine: `none`, `tvm` or `arbitrary`.
 *     threads: Of every kernel; None for the usable cores.
 *     percentile: Of the measured samples; it is the cost.
 *     measure_all: Measure every candidate, not only those that can matter.
 *     search: Name of the searcher.
 *     objective: The measure by which plans are chosen.
 */
export interface RunOptions {
  accuracy?: number | null;
  value_policy?: string | null;
  budget_s?: number | null;
  tune_s?: number | null;
  time_limit_s?: number | null;
  max_depth?: Record<string, number>;
  max_exits?: Record<string, number>;
  taps?: string[];
  fusion?: Record<string, string>;
  threads?: number | null;
  percentile?: number | null;
  measure_all?: boolean;
  search?: string | null;
  objective?: string | null;
}

/** Body of `POST /api/v1/options`; answered with `OptionProblems`. */
export interface CheckOptions {
  accuracy?: number | null;
  value_policy?: string | null;
  budget_s?: number | null;
  tune_s?: number | null;
  time_limit_s?: number | null;
  max_depth?: Record<string, number>;
  max_exits?: Record<string, number>;
  taps?: string[];
  fusion?: Record<string, string>;
  threads?: number | null;
  percentile?: number | null;
  measure_all?: boolean;
  search?: string | null;
  objective?: string | null;
  targets: string[];
}

/** A mistake in an option, or in what it says of `target`, where it names several. */
export interface OptionProblem {
  option: string;
  target: string;
  message: string;
  hint: string;
}

/** `POST /api/v1/options`: every mistake; a run with such options would not start. */
export interface OptionProblems {
  problems: OptionProblem[];
}

/**
 * Body of `POST /api/v1/runs`; answered with a `RunSnapshot`.
 *
 * Attributes:
 *     model: The model's id.
 *     targets: Names of toolchains, in order of priority.
 *     constraints: As in a constraints file (docs/files.md, "Constraints").
 *     groups: Indices in `constraints` of those that were decided together, one list a decision; empty where that is not known.
 *     costs: With `base`, seconds that the user typed in, by candidate id: they count in place of the known costs.
 *     base: Id of a run whose costs are used as they are: only the search runs, under the options of the base.
 *     measure: With `base`, id of a candidate of it that is measured afresh first; targets and constraints are those of the base.
 *     decide_s: With `base`, seconds for which what is undecided in it is measured further; targets and constraints are those of the base.
 *     own_plan: With `base`, an `AgainstRequest`: a plan of the user's own, which is timed end to end beside that of the base, and is that
 *         of the new run.
 *     toolchain: With `base`, text of a described toolchain that is tried beside its costs; it need not be saved, nor be among `targets`.
 */
export interface RunRequest {
  accuracy?: number | null;
  value_policy?: string | null;
  budget_s?: number | null;
  tune_s?: number | null;
  time_limit_s?: number | null;
  max_depth?: Record<string, number>;
  max_exits?: Record<string, number>;
  taps?: string[];
  fusion?: Record<string, string>;
  threads?: number | null;
  percentile?: number | null;
  measure_all?: boolean;
  search?: string | null;
  objective?: string | null;
  model: string;
  targets: string[];
  constraints?: Record<string, unknown>[];
  groups?: number[][];
  costs?: Record<string, number>;
  base?: string | null;
  measure?: string | null;
  decide_s?: number | null;
  own_plan?: Record<string, unknown> | null;
  toolchain?: string | null;
}

/** `POST /api/v1/dry-run`, with a `RunRequest`: the dry run of that run; where there is none, the reason. */
export interface DryRunAnswer {
  dry_run: DryRun | null;
  reason: string;
}

/**
 * Counts of one target. `found` counts candidates and `rejected` sub-graphs; the others count distinct computations.
 *
 * Attributes:
 *     measured: A trial gave their cost.
 *     invalid: They have no cost, whether a trial or the database says so.
 *     cache_hits: Their cost was known.
 *     built: Trials that got as far as a built candidate.
 *     spared: Not measured, since even at their least possible cost no better plan has them.
 *     trials: How many were made; together they took `trials_s` seconds.
 */
export interface TargetCounts {
  name: string;
  found: number;
  unique: number;
  rejected: number;
  measured: number;
  invalid: number;
  cache_hits: number;
  built: number;
  spared: number;
  trials: number;
  trials_s: number;
}

/** A phase that has begun. `started_s` is on the run's clock; `seconds` is None until the phase is over. */
export interface PhaseTime {
  phase: string;
  started_s: number | null;
  seconds: number | null;
}

/** The trial that began last; `spans` as in `CostedRow`, `since_s` on the run's clock, `repetition` as in `CandidateBuilding`. */
export interface Doing {
  target: string;
  label: string;
  spans: number[];
  since_s: number;
  repetition: number;
}

/** A cost that got known while the run goes on, as `CandidateCosted` told it; `seconds` is None where there is a `reason`. */
export interface NewCost {
  target: string;
  label: string;
  seconds: number | null;
  interval_s: number | null;
  reason: string;
}

/** A partition of a search's newest state; `spans` as in `CostedRow`. */
export interface PlacedPart {
  target: string;
  spans: number[];
}

/**
 * The progress of a search and its newest state, as `SearchProgress` has them.
 *
 * Attributes:
 *     least_s: No plan is below it, as far as the search has come; None where the search rests on bounds.
 */
export interface SearchStand {
  states: number;
  frontier: number;
  covered: number;
  nodes: number;
  placed: PlacedPart[];
  placed_s: number;
  least_s: number | null;
}

/**
 * The best total so far and its lower bound, from `seconds` on the run's clock until the next point; None while not known.
 *
 * Attributes:
 *     bound_s: No plan is below it, as the present search has proven.
 *     estimate_s: While costs are measured, `ConsideredPlan.total_s`.
 */
export interface ConvergencePoint {
  seconds: number;
  best_s: number | null;
  bound_s: number | null;
  estimate_s: number | null;
}

/** A partition of a `ConsideredPlan`; `spans` as in `CostedRow`. */
export interface ConsideredPart {
  target: string;
  spans: number[];
  is_known: boolean;
}

/** The plan that decides what is measured next. `total_s` is an estimate: heuristic bounds stand in for unknown costs. */
export interface ConsideredPlan {
  total_s: number;
  partitions: ConsideredPart[];
}

/** The seconds that the run could take (None for no limit), those that measuring took, and what it left undecided. */
export interface BudgetInfo {
  limit_s: number | null;
  spent_s: number;
  undecided: RivalInfo[];
}

/** The progress that `ComparingPlans` told last. */
export interface Comparing {
  doing: "build" | "time";
  name: string;
  done: number;
  total: number;
}

/** The progress that `SearchingBody` told last. */
export interface BodyProgress {
  doing: "search" | "measure";
  name: string;
  number: number;
  count: number;
  done: number;
  total: number;
}

/**
 * `GET /api/v1/runs/<id>`: everything the page needs to draw the run as of event `seq`.
 *
 * Attributes:
 *     created: ISO 8601, UTC.
 *     machine: The machine that measured its costs.
 *     done: Distinct computations whose cost is known, of `total`.
 *     now_s: The time on the run's clock when this is sent, or at the last event of a run that has ended.
 *     phases: Those that have begun, in their order.
 *     step: Of the measuring loop, as its latest `StepStarted` says; None outside of it.
 *     doing: While a candidate is measured, the trial; None while a search goes on.
 *     ends_s: The time on the run's clock at which it will be over, about; None while that cannot be estimated.
 *     comparing: While whole plans are built and timed, how far that is.
 *     body: While a body of a node is searched, how far that is.
 *     leaders: The leaderboard, from the first candidates on; it stays as it was at the end.
 *     new_costs: The costs that got known last, the newest first.
 *     waits_for: While it is queued, what it waits for, in words.
 *     search: While a search goes on, its progress, also that of a search that decides what is measured next.
 *     considered: While costs are measured, the plan that decides what is measured next.
 *     convergence: The course of best total and bound; thinned, so that it is never long.
 *     plan: The best plan so far (costs and transitions may be missing), or the final one.
 *     time: What is known of the time of the plan; None while it may still change.
 *     verdict: The sentence that leads all that is said of the plan; None while it may still change.
 *     decided_by: What decided that it is the plan, as in `PlanDecided`, or `given`, of a plan of the user's own; None where nothing
 *         was timed end to end.
 *     alternatives: Baselines and other plans that were timed end to end, as in `PlanDecided`.
 *     groups, costs: As in `RunRequest`.
 *     conflict: Indices in `constraints` of a minimal set that cannot hold together.
 *     uncovered: Nodes that no usable candidate holds.
 *     artifact: The runnable artifact is built and verified: the export holds it.
 *     recorded: Its costs come with a sample; this installation did not measure them.
 *     accuracy: The largest relative error that was asked for; None where none was.
 *     remeasured: Id of the candidate that it measured afresh; all other costs are those of its `base`.
 *     options: Those that were given.
 *     described: The targets that are only described: their costs are estimates.
 *     has_own_costs: It knows costs that its base does not, since a described toolchain was tried beside it, or more was measured.
 *     budget: Of a run that measured, once it is over.
 *     cancelled: Of a run that was stopped and kept its best plan; None for others, and where nothing is missing.
 */
export interface RunSnapshot {
  id: string;
  state: RunState;
  seq: number;
  model: string;
  model_name: string;
  targets: string[];
  constraints: Record<string, unknown>[];
  created: string;
  base: string | null;
  machine: string;
  phase: string | null;
  step: string | null;
  done: number;
  total: number;
  counts: TargetCounts[];
  lower_bound_s: number | null;
  best_s: number | null;
  optimal: boolean | null;
  plan: PlanInfo | null;
  baselines: Baseline[];
  time: PlanTime | null;
  verdict: Verdict | null;
  decided_by: "sum" | "whole" | "given" | null;
  alternatives: MeasuredPlan[];
  verify: VerifyInfo | null;
  notes: string[];
  error: ApiError | null;
  conflict: number[];
  uncovered: number[];
  artifact: boolean;
  recorded: boolean;
  now_s: number;
  phases: PhaseTime[];
  doing: Doing | null;
  ends_s: number | null;
  search: SearchStand | null;
  considered: ConsideredPlan | null;
  convergence: ConvergencePoint[];
  accuracy: number | null;
  remeasured: string | null;
  options: RunOptions;
  described: string[];
  has_own_costs: boolean;
  budget: BudgetInfo | null;
  cancelled: CancelledInfo | null;
  comparing: Comparing | null;
  body: BodyProgress | null;
  leaders: Leader[];
  new_costs: NewCost[];
  waits_for: string;
  groups: number[][];
  costs: Record<string, number>;
}

/**
 * Body of `PATCH /api/v1/runs/<id>`; answered with a `RunSummary`. A field that is None stays as it is.
 *
 * Attributes:
 *     name: The name that its user gave it; empty for none.
 */
export interface RunMarks {
  name: string | null;
  note: string | null;
  is_starred: boolean | null;
}

/**
 * The time of a plan, and the verdict on it.
 *
 * Attributes:
 *     is_measured: `total_s` was timed end to end, beside other plans; else it is the predicted time.
 *     text, is_good: As in `Verdict`; empty where nothing is compared.
 */
export interface PlanResult {
  total_s: number;
  is_measured: boolean;
  text: string;
  is_good: boolean;
}

/**
 * One row of `GET /api/v1/runs`.
 *
 * Attributes:
 *     total_s: Predicted total of the best plan, if there is one.
 *     measured_s: Of the plan, timed end to end beside its baselines; None where it was not, or by itself alone (`VerifyInfo.apart`).
 *     result: Of a run that has ended with a plan.
 *     by_target: Target → what its partitions take together, in seconds.
 *     moves_s: The part of the total that transitions and copies take.
 *     constraints: How many decisions they are; their number where the decisions are not known.
 *     artifact, recorded, remeasured, options: As in `RunSnapshot`.
 *     name, note, is_starred: As in `RunMarks`.
 */
export interface RunSummary {
  id: string;
  state: RunState;
  model: string;
  model_name: string;
  targets: string[];
  constraints: number;
  created: string;
  base: string | null;
  machine: string;
  total_s: number | null;
  artifact: boolean;
  by_target: Record<string, number>;
  moves_s: number | null;
  optimal: boolean | null;
  verify: VerifyInfo | null;
  recorded: boolean;
  remeasured: string | null;
  options: RunOptions;
  name: string;
  note: string;
  is_starred: boolean;
  result: PlanResult | null;
  measured_s: number | null;
}

/** `GET /api/v1/runs`: recorded runs too; newest first. */
export interface RunList {
  runs: RunSummary[];
}

/** A file of an export, or a command that uses them, and what it is for. */
export interface Shipped {
  name: string;
  says: string;
}

/**
 * Body of `POST /api/v1/runs/<id>/artifact`; answered with a `RunSnapshot`.
 *
 * Attributes:
 *     form: None for the form of the artifact that is there, and for a module where there is none.
 */
export interface ArtifactRequest {
  form: "auto" | "module" | "pieces" | "native" | null;
}

/**
 * `GET /api/v1/runs/<id>/export/contents`: what the zip holds, and the commands that use it there.
 *
 * Attributes:
 *     form: The form of the artifact in it; None where it holds none.
 *     exports: The files that are made when they are asked for, by `GET /api/v1/runs/<id>/exports/<name>`.
 *     why_not: Form → why the artifact of this plan cannot have it, of the forms that it cannot have.
 */
export interface ExportInfo {
  files: Shipped[];
  commands: Shipped[];
  form: "module" | "pieces" | "native" | null;
  exports: Shipped[];
  why_not: Record<string, string>;
}

/** `GET /api/v1/runs/<id>/log`: the newest decisions of a run, in order; `is_cut` says that there were more. */
export interface RunLog {
  run: string;
  items: Numbered[];
  is_cut: boolean;
}

/** The rows of a node in `PackedNodeCandidates`, by index. */
export interface NodeRows {
  candidates: number[];
  rejections: number[];
}

/**
 * Of a report: `NodeCandidates` of every node, with each candidate and each rejection once.
 *
 * Attributes:
 *     nodes: In the order of the nodes.
 */
export interface PackedNodeCandidates {
  candidates: NodeCandidate[];
  rejections: NodeRejection[];
  nodes: NodeRows[];
}

/**
 * One row of `RunCandidates`: a candidate that was costed, the invalid ones too.
 *
 * Attributes:
 *     spans: Its nodes, in pairs of the first and the last one of a run without gaps: `[0, 3, 7, 7]` is 0, 1, 2, 3 and 7.
 *     times: How many candidates of the target are this computation.
 *     cost: As `Cost.to_json` gives it.
 *     chosen: It is in the plan.
 *     regret_s: Least total of a plan that holds it, less the least total; None where that is not known or there is no such plan.
 *     in_no_plan: It is known that no plan holds it.
 */
export interface CostedRow {
  id: string;
  target: string;
  label: string;
  rule: string;
  spans: number[];
  times: number;
  cost: Cost;
  chosen: boolean;
  regret_s: number | null;
  in_no_plan: boolean;
}

/**
 * A sub-graph that became no candidate; `spans` as in `CostedRow`. Of equal rejections only a sample is kept.
 *
 * Attributes:
 *     rule: Names of the rules from the one that rejected it down.
 *     pattern: Of a pattern rule, the label of its pattern, or the pattern itself; empty for the others.
 */
export interface RejectedRow {
  target: string;
  spans: number[];
  rule: string;
  stage: string;
  reason: string;
  pattern: string;
}

/**
 * The columns of `PackedCandidates`: fields as in `CostedRow`, one value a row.
 *
 * Attributes:
 *     target, label, rule, cost: Indices in the lists of `PackedCandidates`.
 *     chosen, in_no_plan: The rows of which that is true.
 */
export interface CandidateColumns {
  id: string[];
  target: number[];
  label: number[];
  rule: number[];
  spans: number[][];
  times: number[];
  cost: number[];
  chosen: number[];
  regret_s: (number | null)[];
  in_no_plan: number[];
}

/**
 * `GET /api/v1/runs/<id>/candidates`: every candidate that was costed, and what the rules rejected.
 *
 * Rows as columns: there may be tens of thousands, which share few costs, labels and rules.
 *
 * Attributes:
 *     targets, labels, rules, costs: Each that occurs, once; `columns` has indices in them.
 */
export interface PackedCandidates {
  run: string;
  targets: string[];
  labels: string[];
  rules: string[];
  costs: Cost[];
  columns: CandidateColumns;
  rejections: RejectedRow[];
}

/** `PackedCandidates` unpacked, as the page keeps it. */
export interface RunCandidates {
  run: string;
  candidates: CostedRow[];
  rejections: RejectedRow[];
}

/** `GET /api/v1/runs/<id>/baselines/<name>/plan`: how such a baseline cuts the model (`Baseline`). */
export interface BaselinePlan {
  run: string;
  name: string;
  plan: PlanInfo;
}

/**
 * The best plan on a run's costs under other terms. Nothing of it is kept: `POST /api/v1/runs` with a `base` keeps it.
 *
 * Attributes:
 *     plan: None where no plan holds the terms.
 *     optimal: It is proven that no better plan holds them.
 *     untimed: How many candidates are accurate enough now, and were not when the run measured: their costs are not known.
 *     keeps_plan: It is the plan of the run, since the terms ask for nothing that it does not have: what was measured of it holds.
 *     time: What is known of its time; None where there is no plan.
 *     change, change_text, predicted_text: As in `PlanUnderTerms`; None and empty where there is no plan.
 *     error: Why there is no plan.
 *     conflict: Indices in the request's constraints of a minimal set that cannot hold together.
 *     off: Targets that are switched off and belong to that set.
 *     uncovered: Nodes that no usable candidate holds.
 */
export interface WhatIf {
  run: string;
  plan: PlanInfo | null;
  optimal: boolean;
  untimed: number;
  keeps_plan: boolean;
  time: PlanTime | null;
  change: Statement | null;
  change_text: string;
  predicted_text: string;
  error: ApiError | null;
  conflict: number[];
  off: string[];
  uncovered: number[];
}

/** Counts up to a step of a trace: states taken, found, and found again by a better way; candidates refused. */
export interface TraceStart {
  taken: number;
  found: number;
  improved: number;
  refused: number;
  best_s: number | null;
}

/** How a traced search ended. `total_s` is None where it found no plan. */
export interface TraceResult {
  algorithm: string;
  optimal: boolean;
  stopped: boolean;
  total_s: number | null;
  lower_bound_s: number;
  states: number;
  transitions: number;
  seconds: number;
}

/**
 * One search of a trace, or one walk of it: it begins again where its best plan had a cycle between partitions.
 *
 * Attributes:
 *     is_again: It is such another walk.
 *     first: Its first step.
 *     candidates: How many it could choose from.
 *     before: The counts before it.
 *     bound_s: No plan is below it; with a state's value it is what no plan over that state is below. None where not known.
 *     result: None for a walk that was followed by another.
 */
export interface TraceSearch {
  title: string;
  is_again: boolean;
  first: number;
  candidates: number;
  before: TraceStart;
  bound_s: number | null;
  result: TraceResult | null;
}

/**
 * Facts of a whole trace.
 *
 * Attributes:
 *     size_bytes: Of its file; past `bound_bytes` it goes on with decisions alone, and `is_thinned`.
 *     chunk_steps: How many steps each chunk holds, the last one fewer.
 *     reasons: Why candidates were not placed; refusing steps say which by its index.
 *     seconds: How long tracing took.
 */
export interface TraceFacts {
  steps: number;
  chunk_steps: number;
  size_bytes: number;
  bound_bytes: number;
  is_thinned: boolean;
  nodes: number;
  seconds: number;
  reasons: string[];
  searches: TraceSearch[];
}

/**
 * `GET /api/v1/runs/<id>/trace`: whether the run's search has been traced.
 *
 * Attributes:
 *     steps: How many there are so far, while it is being traced.
 *     facts: With `ready`.
 *     error: With `failed`.
 */
export interface TraceState {
  run: string;
  state: "none" | "tracing" | "ready" | "failed";
  steps: number;
  facts: TraceFacts | null;
  error: ApiError | null;
}

/** A candidate in a trace; `number` is its own in the whole trace, `spans` as in `CostedRow`, `source` that of its cost. */
export interface TraceCandidate {
  number: number;
  target: string;
  label: string;
  spans: number[];
  cost_s: number | null;
  source: string;
}

/**
 * `GET /api/v1/runs/<id>/trace/chunks/<number>`: steps of a trace, one at each index of the columns (docs/files.md, "A trace").
 *
 * Attributes:
 *     first: Number of its first step.
 *     kinds: One letter a step.
 *     ways: State, its parent, the candidate placed there, one after another, for every state that the steps need.
 *     plans: Numbers of candidates; the steps with a plan say which.
 *     shown: Every candidate that the steps speak of.
 */
export interface TraceChunk {
  first: number;
  kinds: string;
  states: number[];
  parents: number[];
  candidates: number[];
  values: number[];
  ways: number[];
  plans: number[][];
  shown: TraceCandidate[];
  start: TraceStart;
}

/**
 * Answer of `POST /api/v1/sessions`: what a session file brought (docs/files.md, "A session").
 *
 * Attributes:
 *     runs: Ids of its runs, as they are here.
 *     added: How many of them were not here before.
 *     shown: The one to show; None where it has none.
 *     notice: What is missing, in one sentence; empty where nothing is.
 */
export interface OpenedSession {
  model: ModelInfo;
  runs: string[];
  added: number;
  shown: string | null;
  notice: string;
}

/** `GET /api/v1/storage`: the one folder in which everything is kept, and its size. */
export interface Storage {
  folder: string;
  size_bytes: number;
}

/** `GET /api/v1/runs/<id>/candidates?node=<index>`. */
export interface NodeCandidates {
  node: number;
  candidates: NodeCandidate[];
  rejections: NodeRejection[];
}

/**
 * The facts of a whole model that its file says.
 *
 * Attributes:
 *     opsets: Domain → version of its operators; ONNX's own domain is `ai.onnx`.
 *     model_version: 0 where it has none.
 *     doc: The doc string of the model; `graph_doc` that of its graph.
 *     metadata: Key → value, as the file has them.
 *     operators: Operator → how many nodes have it, those of bodies and functions included; the most frequent first.
 *     functions: The local functions.
 *     nodes: The nodes of the graph itself; `inner_nodes` are those in bodies and functions.
 *     parameters: Elements of all weights, and `parameter_bytes` their size.
 *     external: The files in which weights lie.
 */
export interface ModelCard {
  name: string;
  ir_version: number;
  opsets: Record<string, number>;
  producer: string;
  producer_version: string;
  domain: string;
  model_version: number;
  doc: string;
  graph_doc: string;
  metadata: Record<string, string>;
  nodes: number;
  inner_nodes: number;
  operators: Record<string, number>;
  functions: string[];
  parameters: number;
  parameter_bytes: number;
  external: string[];
  inputs: ViewedTensor[];
  outputs: ViewedTensor[];
}

/**
 * Some values of a weight, and what all of them are like.
 *
 * Attributes:
 *     size: How many elements it has, and `bytes` their size in the file.
 *     first: Index of the first of `values`, in the order of the memory.
 *     values: Text or numbers; NaN and infinities are text.
 *     minimum: Of the finite values, as `maximum`, `mean`, `deviation` and `histogram`; null where there are none, or they are no numbers.
 *     zeros: The share of zeros.
 *     not_finite: How many values are NaN or infinite.
 */
export interface WeightValues {
  name: string;
  dtype: string;
  shape: number[];
  size: number;
  bytes: number;
  first: number;
  values: (number | string | boolean)[];
  minimum: number | null;
  maximum: number | null;
  mean: number | null;
  deviation: number | null;
  zeros: number | null;
  not_finite: number;
  histogram: Histogram | null;
}

/** Asks for the regrets of candidates, by id; over the web API at most 200. */
export interface RegretRequest {
  candidates: string[];
}

/**
 * Asks for the best plan of a run under other terms, or what each of the terms does.
 *
 * Attributes:
 *     targets: Those that may be used; the others of the run are switched off.
 *     constraints: As in a constraints file (docs/files.md, "Constraints").
 *     accuracy: Largest relative error of a partition; None for that of the run.
 *     groups: For the effects: indices in `constraints`; those of one group are taken back together.
 *     costs: Seconds that the user typed in, by candidate id.
 *     devices: Location → its memory and its link, where they are others than those of the run.
 */
export interface WhatIfRequest {
  targets: string[];
  constraints?: Record<string, unknown>[];
  accuracy?: number | null;
  groups?: number[][];
  costs?: Record<string, number>;
  devices?: Record<string, DeviceTerms>;
}

/**
 * Asks how a plan of the user's own does on the costs of a run.
 *
 * Attributes:
 *     text: A plan of the user's own, in any form that `collage explain --against` takes.
 *     name: The file that it is from, for messages.
 *     devices: Device or provider, as the text names it → target.
 */
export interface AgainstRequest {
  text: string;
  name?: string;
  devices?: Record<string, string>;
}

/**
 * Asks how the best plan changes with the memory of a device, or with the speed of its links.
 *
 * Attributes:
 *     location: The device's memory, such as `cuda:0`.
 *     quantity: `memory` or `link`.
 */
export interface DeviceCurveRequest {
  location: string;
  quantity: string;
}

/** Body of `POST /api/v1/compare`; answered with a `TwoPlans`. */
export interface CompareRequest {
  first: ShownPlan;
  second: ShownPlan;
}

/**
 * How the first plan compares with the second.
 *
 * Attributes:
 *     text: The change of the time in words, with what it rests on.
 *     is_faster: The first is; None where that is not decided.
 *     measured: None where one of them was not timed end to end.
 *     regions: The largest difference first.
 *     moved: The nodes whose target differs.
 */
export interface TwoPlans {
  text: string;
  is_faster: boolean | null;
  predicted: TwoTimes;
  measured: TwoTimes | null;
  transitions: TwoTimes;
  regions: TwoRegions[];
  moved: number[];
}

/** `GET /api/v1/runs/<id>/rules`: the specs of the run, the host's last. */
export interface RunRules {
  run: string;
  specs: RunSpec[];
}

/**
 * `GET /api/v1/runs/<id>/estimates`: the roofline estimates of the candidates that were measured. None of them is a cost.
 *
 * Attributes:
 *     machine: The machine whose speed they use: the one that answers, wherever the costs were measured.
 *     reason: The figures that the estimates rest on.
 *     seconds: Candidate's id → estimate.
 */
export interface RunEstimates {
  run: string;
  machine: string;
  reason: string;
  seconds: Record<string, number>;
}

/**
 * `GET /api/v1/runs/<id>/node-times`: where the time goes inside the partitions of the run's plan.
 *
 * Attributes:
 *     alone_s: Target → for each node the cost of the candidate that holds it alone; None where that was not measured.
 */
export interface RunNodeTimes {
  run: string;
  partitions: PartitionNodeTimes[];
  alone_s: Record<string, (number | null)[]>;
}

/**
 * `GET /api/v1/runs/<id>/shapes`: the plans of a run over several shapes (docs/shapes.md).
 *
 * Attributes:
 *     shapes: Empty where the run has one shape.
 *     shown: Index of the shape that the rest of the run is about.
 */
export interface RunShapes {
  run: string;
  shapes: RunShape[];
  shown: number;
  one_plan: ShapesAnswer;
  by_range: ShapesAnswer;
  crossovers: ShapesCrossover[];
  chosen: "one_plan" | "by_range" | "";
  decided_by: string;
}

/** `GET /api/v1/runs/<id>/bodies`: the nodes of the run's model that have bodies. */
export interface RunBodies {
  run: string;
  nodes: ControlNode[];
}

/**
 * `GET /api/v1/runs/<id>/worth`: which targets are worth having, as `collage explain --by-targets` tells.
 *
 * Attributes:
 *     sets: The fastest first, those without a plan or of unknown time last.
 *     steps: The best set of each number of targets, as long as one more makes the plan faster.
 *     as_good: The fewest targets whose plan is within a hundredth of the best.
 *     text: The answer in one sentence.
 *     is_whole: False where there was no time for all sets.
 */
export interface Worth {
  run: string;
  sets: TargetSet[];
  steps: TargetStep[];
  as_good: string[];
  text: string;
  is_whole: boolean;
}

/**
 * The totals of a run.
 *
 * Attributes:
 *     decision: What decided that the plan is the plan, as one sentence; empty where nothing was timed end to end.
 *     rows: The plan first; then what was timed end to end, then the others, each the fastest first.
 */
export interface RunTotals {
  run: string;
  decision: string;
  rows: TotalRow[];
}

/**
 * `GET /api/v1/runs/<id>/undecided`: what `collage explain --undecided` tells.
 *
 * Attributes:
 *     total_s: Predicted seconds of the plan.
 *     total_interval_s: Half of its 95 % interval; None where not known.
 *     is_measured: A cost says by how much it may be off; else nothing can be called undecided.
 *     toss_ups: Ids of the partitions that stay chosen in few draws.
 *     rivals: The largest gain first.
 *     seconds: Of measuring that would decide all of them, each computation once.
 *     unknown_costs: As in `RunDocument`: the rest of the answer leaves them out.
 */
export interface RunUndecided {
  run: string;
  total_s: number;
  total_interval_s: number | null;
  is_measured: boolean;
  partitions: StablePart[];
  toss_ups: string[];
  rivals: UndecidedRival[];
  seconds: number;
  unknown_costs: UnknownCosts | null;
}

/** Answers `RegretRequest`: worked out when asked for, within a second; those that cannot be used are left out. */
export interface RunRegrets {
  run: string;
  regrets: CandidateRegret[];
}

/**
 * The effects of the groups asked for, of each target that is switched off and each cost typed in, and of another accuracy.
 *
 * Those that took too long are missing: at the end of `groups`, among the targets or the costs, or None.
 */
export interface Effects {
  run: string;
  groups: Effect[];
  off: Record<string, Effect>;
  accuracy: Effect | null;
  costs: Record<string, Effect>;
}

/**
 * `POST /api/v1/runs/<id>/other-terms`: what `collage explain --what-if` tells besides the plan and its constraints.
 *
 * Attributes:
 *     total_s: Of the run that measured.
 *     change, change_text, predicted_text: As in `PlanUnderTerms`.
 *     kept_s: The total of the run's plan under these terms; None where it does not hold them.
 */
export interface OtherTerms {
  run: string;
  total_s: number;
  change: Statement;
  change_text: string;
  predicted_text: string;
  kept_s: number | null;
  typed: TypedCost[];
  targets: TargetUnderTerms[];
}

/**
 * A plan of the user's own on the costs of a run.
 *
 * Attributes:
 *     time: What is known of its time.
 *     apparent_loss_s: The total of the run's plan less that of this one; None where a cost is not known.
 *     unknown: Its parts whose costs are not known to their end.
 *     ignored: Names of the given plan that the model does not have.
 */
export interface CostedPlan {
  run: string;
  name: string;
  plan: PlanInfo;
  time: PlanTime;
  apparent_loss_s: number | null;
  unknown: UnknownPart[];
  ignored: string[];
}

/**
 * The best plan of a run by the memory of a device, or by the speed of its links, from known costs.
 *
 * Attributes:
 *     now: The bytes or the speed that the run planned with; None without a limit.
 *     pieces: The smallest sizes or speeds first. Between two there may be a gap where the time was over.
 *     is_complete: There is no such gap.
 *     texts: Each piece in words.
 */
export interface DeviceCurve {
  run: string;
  location: string;
  quantity: string;
  now: number | null;
  pieces: DevicePiece[];
  is_complete: boolean;
  texts: string[];
}

/**
 * `POST /api/v1/runs/<id>/profile`: what `collage run ARTIFACT --profile` tells; the artifact is run for about a second.
 *
 * Attributes:
 *     whole_s: Of one inference.
 *     rest_s: What belongs to no partition: calls, and copies.
 *     predicted_between_s: What the plan counts for transitions.
 */
export interface InsideTimes {
  run: string;
  whole_s: number;
  rest_s: number;
  predicted_s: number | null;
  predicted_between_s: number | null;
  partitions: InsideTime[];
}

/** A phase begins. Sent once for each phase that runs, in the order of `PHASES`. */
export interface PhaseStarted {
  type: "PhaseStarted";
  phase: string;
}

/** A phase is over after `seconds`. */
export interface PhaseEnded {
  type: "PhaseEnded";
  phase: string;
  seconds: number;
}

/**
 * The measuring loop enters one of the `STEPS`, which it may have been in before.
 *
 * Attributes:
 *     left_s: About how long the run takes still, as the budget has it; None while nobody can tell.
 */
export interface StepStarted {
  type: "StepStarted";
  step: string;
  left_s: number | null;
}

/** The candidates of one target are found (phase 2): how many there are, how many distinct computations, and how many rejections. */
export interface CandidatesFound {
  type: "CandidatesFound";
  target: string;
  candidates: number;
  unique: number;
  rejected: number;
}

/**
 * A worker starts a trial; `done` of about `total` distinct computations are known, a share that never falls. May be thinned.
 *
 * Attributes:
 *     spans: Nodes of the candidate: first and last index of each run without gaps, one after another.
 *     left_s: As in `StepStarted`.
 *     repetition: Number of the repetition, from 1; candidates of the best plans are timed more than once.
 */
export interface CandidateBuilding {
  type: "CandidateBuilding";
  target: string;
  candidate: string;
  label: string;
  spans: number[];
  done: number;
  total: number;
  left_s: number | null;
  repetition: number;
}

/**
 * The cost of a candidate, or the reason why it has none, is known. A decision: never dropped.
 *
 * Attributes:
 *     candidates: Ids of all candidates that are the same computation.
 *     cost: As `Cost.to_json` gives it.
 *     took_s: Duration of the trial, the build included; None where there was no trial.
 *     left_s: As in `CandidateBuilding`.
 */
export interface CandidateCosted {
  type: "CandidateCosted";
  target: string;
  candidates: string[];
  label: string;
  cost: Cost;
  from_cache: boolean;
  done: number;
  total: number;
  took_s: number | null;
  left_s: number | null;
}

/**
 * A body of an `If`, `Loop` or `Scan` is searched like a model of its own, or its node is measured on the host. May be thinned.
 *
 * Attributes:
 *     doing: `search` or `measure`.
 *     name: Of the body, such as `then_branch of pick`, or of the node that is measured.
 *     number: Which body it is of `count` that are searched, from 1; bodies inside others are not counted.
 *     done, total: Distinct computations of the body whose cost is known, of about as many; 0 of 0 before they are asked for.
 */
export interface SearchingBody {
  type: "SearchingBody";
  doing: "search" | "measure";
  name: string;
  number: number;
  count: number;
  done: number;
  total: number;
}

/**
 * The plan that is best by the costs and bounds known so far; its unknown costs are measured next. May be thinned.
 *
 * Attributes:
 *     total_s: Its total, with a heuristic lower bound in the place of each cost that is not measured: an estimate.
 *     best_s: Least total of a plan whose costs are all measured; None while there is no such plan.
 *     partitions: Target, nodes as in `CandidateBuilding`, and whether the cost is known.
 */
export interface PlanConsidered {
  type: "PlanConsidered";
  total_s: number;
  best_s: number | null;
  partitions: [string, number[], boolean][];
}

/**
 * Progress of the search, and its newest state. May be thinned.
 *
 * Attributes:
 *     covered: Number of nodes before the first one that the newest state does not cover.
 *     lower_bound_s, best_s: Of the totals of all plans, and the least so far; None where the search rests on bounds or looks at a part
 *         of the candidates, as those do that decide what is measured.
 *     placed: The newest state: the partitions that it has placed, each as target and nodes (as in `CandidateBuilding`).
 *     placed_s: What these cost together, without transitions; with bounds where the search rests on bounds.
 */
export interface SearchProgress {
  type: "SearchProgress";
  states: number;
  transitions: number;
  frontier: number;
  covered: number;
  nodes: number;
  lower_bound_s: number | null;
  best_s: number | null;
  placed: [string, number[]][];
  placed_s: number;
}

/** A better plan was found: its total, and its partitions as (target, nodes). A decision: never dropped. */
export interface PlanImproved {
  type: "PlanImproved";
  total_s: number;
  partitions: [string, number[]][];
  round: number;
}

/**
 * Whole plans are built, and then timed in turns: the plan, its rivals and the baselines. May be thinned.
 *
 * Attributes:
 *     doing: `build` or `time`.
 *     name: Of the first plan that is being built; of those that are timed where they are two at most, else empty.
 *     done: How many plans are built, or rounds over, of about `total`.
 *     left_s: About how long building and timing take still.
 */
export interface ComparingPlans {
  type: "ComparingPlans";
  doing: "build" | "time";
  name: string;
  done: number;
  total: number;
  left_s: number;
}

/** A baseline (`rules/partitionings.py` has their names) was built by the same code as the plan, and timed. */
export interface BaselineMeasured {
  type: "BaselineMeasured";
  name: string;
  total_s: number | null;
  measured_s: number | null;
  reason: string;
}

/**
 * The time of a target alone is known, or the reason why there is none: that of its largest candidate. A decision: never dropped.
 *
 * Attributes:
 *     nodes, of: Number of nodes of the candidate, and of the model.
 */
export interface TargetAlone {
  type: "TargetAlone";
  target: string;
  nodes: number;
  of: number;
  total_s: number | null;
  interval_s: number | null;
  reason: string;
}

/**
 * The plan and its alternatives were timed end to end, turn by turn. A decision: never dropped.
 *
 * Attributes:
 *     decided_by: `sum` where the plan of the least sum is the plan; `whole` where another one was faster, timed end to end.
 *     name: The plan's name among the alternatives.
 */
export interface PlanDecided {
  type: "PlanDecided";
  decided_by: "sum" | "whole";
  name: string;
  measured_s: number;
  alternatives: MeasuredPlan[];
}

/**
 * The assembled plan was run and compared with the reference.
 *
 * Attributes:
 *     max_rel_error: Largest relative error over all outputs; None where it is infinite, which JSON has no number for.
 */
export interface Verified {
  type: "Verified";
  measured_s: number;
  max_rel_error: number | null;
  accuracy: number;
}

/** Something that the user should know, such as a limit that was reached, a decision within the noise, or a worker that died. */
export interface Note {
  type: "Note";
  text: string;
}

/**
 * Sent by the server itself, among the numbered events, when the run enters another state. Never dropped.
 *
 * Attributes:
 *     error: Why it failed; with `done`, why the artifact asked for could not be built (the plan stands).
 *     conflict: Indices in `RunSnapshot.constraints` of a minimal set that cannot hold together.
 *     uncovered: Nodes that no usable candidate holds.
 *     artifact: The runnable artifact is built and verified.
 *     waits_for: Of one that is queued: what it waits for, in words; empty where it need not wait.
 */
export interface RunStateChanged {
  type: "RunStateChanged";
  state: RunState;
  error: ApiError | null;
  conflict: number[];
  uncovered: number[];
  artifact: boolean;
  waits_for: string;
}

/** Every event of a run, as `Numbered.event` carries it. */
export type RunEvent =
  | PhaseStarted
  | PhaseEnded
  | StepStarted
  | CandidatesFound
  | CandidateBuilding
  | CandidateCosted
  | SearchingBody
  | PlanConsidered
  | SearchProgress
  | PlanImproved
  | ComparingPlans
  | BaselineMeasured
  | TargetAlone
  | PlanDecided
  | Verified
  | Note
  | RunStateChanged;

/** Sends a question about a run: the method, the last part of the path, and the body. */
export type Ask = <T>(run: string, method: "GET" | "POST", path: string, body?: unknown) => Promise<T>;

/** The questions about a run, sent by `ask`. */
export const questionsBy = (ask: Ask) => ({
  candidates: (run: string, node: number) => ask<NodeCandidates>(run, "GET", `candidates?node=${node}`),
  rules: (run: string) => ask<RunRules>(run, "GET", `rules`),
  estimates: (run: string) => ask<RunEstimates>(run, "GET", `estimates`),
  nodeTimes: (run: string) => ask<RunNodeTimes>(run, "GET", `node-times`),
  shapes: (run: string) => ask<RunShapes>(run, "GET", `shapes`),
  bodies: (run: string) => ask<RunBodies>(run, "GET", `bodies`),
  worth: (run: string) => ask<Worth>(run, "GET", `worth`),
  totals: (run: string) => ask<RunTotals>(run, "GET", `totals`),
  undecided: (run: string) => ask<RunUndecided>(run, "GET", `undecided`),
  regrets: (run: string, body: RegretRequest) => ask<RunRegrets>(run, "POST", "regrets", body),
  whatIf: (run: string, body: WhatIfRequest) => ask<WhatIf>(run, "POST", "what-if", body),
  effects: (run: string, body: WhatIfRequest) => ask<Effects>(run, "POST", "effects", body),
  otherTerms: (run: string, body: WhatIfRequest) => ask<OtherTerms>(run, "POST", "other-terms", body),
  against: (run: string, body: AgainstRequest) => ask<CostedPlan>(run, "POST", "against", body),
  deviceCurve: (run: string, body: DeviceCurveRequest) => ask<DeviceCurve>(run, "POST", "device-curve", body),
});
