// The client of the server's REST API: every request, and the one shape of its errors. In a report, the answers are those that it brings.

import { during } from "../base/idle";
import { nextFrame } from "../base/long_work";
import { config, isReport } from "./config";
import { answerIn, packedAnswers } from "./packed_answers";
import type {
  ApiError,
  ArtifactRequest,
  BaselinePlan,
  CheckOptions,
  CompareRequest,
  DryRunAnswer,
  Description,
  DescriptionCheck,
  DescriptionList,
  DotRequest,
  InsideTimes,
  ErrorBody,
  ExportInfo,
  FileGraph,
  LayoutJson,
  ModelCard,
  ModelGraph,
  ModelGroups,
  ModelInfo,
  ModelList,
  ModelOperators,
  OpenedSession,
  OpenInputJson,
  OpenModel,
  OptionProblems,
  PackedCandidates,
  RegionChoice,
  RunList,
  RunLog,
  RunMarks,
  RunRequest,
  RunSnapshot,
  RunSummary,
  SampleList,
  Storage,
  ToolchainList,
  TraceChunk,
  TraceState,
  TwoPlans,
  WeightValues,
} from "./protocol";
import { questionsBy } from "./protocol";
import { unpacked } from "./tables/packed_candidates";

/** Thrown where the server answers with an error, or not at all. */
export class ApiFailure extends Error implements ApiError {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly choices: string[] = [],
    readonly regions: RegionChoice[] = [],
    readonly inputs: OpenInputJson[] = [],
  ) {
    super(message);
  }
}

/** An error that the page can show, with the paths of models or the regions of one to choose from, or inputs to say sizes of, if the server named some. */
export interface PageError extends ApiError {
  choices?: string[];
  regions?: RegionChoice[];
  inputs?: OpenInputJson[];
}

/** Any thrown value as an error that the page can show. */
export function asApiError(error: unknown): PageError {
  if (error instanceof ApiFailure) return { code: error.code, message: error.message, hint: error.hint, choices: error.choices, regions: error.regions, inputs: error.inputs };
  return { code: "page", message: error instanceof Error ? error.message : String(error), hint: "reload the page" };
}

export type Shapes = Record<string, number[]>;
/** Input → the value that it always has, as one types it. */
export type Values = Record<string, string>;

export const api = {
  samples: () => get<SampleList>("samples"),
  toolchains: () => get<ToolchainList>("toolchains"),
  models: () => get<ModelList>("models"),
  model: (id: string) => get<ModelInfo>(`models/${encodeURIComponent(id)}`),
  graph: (id: string) => get<ModelGraph>(`models/${encodeURIComponent(id)}/graph`),
  groups: (id: string) => get<ModelGroups>(`models/${encodeURIComponent(id)}/groups`),
  fileGraph: (id: string, scope: string) => get<FileGraph>(`models/${encodeURIComponent(id)}/file?scope=${encodeURIComponent(scope)}`),
  card: (id: string) => get<ModelCard>(`models/${encodeURIComponent(id)}/card`),
  operators: (id: string) => get<ModelOperators>(`models/${encodeURIComponent(id)}/operators`),
  weight: (id: string, name: string, first: number, count: number) => get<WeightValues>(`models/${encodeURIComponent(id)}/weights?${new URLSearchParams({ name, first: String(first), count: String(count) }).toString()}`),
  layout: (model: string, key: string) => get<LayoutJson | undefined>(layoutPath(model, key)),
  keepLayout: (model: string, key: string, layout: LayoutJson) => request<undefined>(layoutPath(model, key), withBody("PUT", layout)),
  openModel: (body: OpenModel) => post<ModelInfo>("models", body),
  deleteModel: (id: string) => request<undefined>(`models/${encodeURIComponent(id)}`, { method: "DELETE" }),
  upload: (files: readonly File[], shapes: Shapes, values?: Values, region?: string, trust?: boolean) =>
    request<ModelInfo>("models", { method: "POST", body: form(files, shapes, values, region, trust) }),
  openSession: (file: File) => request<OpenedSession>("sessions", { method: "POST", body: form([file], {}) }),
  /** The address of a model's session, once the server has said that there can be one: a download shows no error. */
  sessionAddress: (model: string, shown: string | undefined) => during("session", downloadable(`models/${encodeURIComponent(model)}/session${shown === undefined ? "" : `?shown=${encodeURIComponent(shown)}`}`)),
  dot: (id: string, body: DotRequest) => during("dot", text(`models/${encodeURIComponent(id)}/dot`, withBody("POST", body))),
  runs: () => get<RunList>("runs"),
  run: (id: string) => get<RunSnapshot>(`runs/${encodeURIComponent(id)}`),
  startRun: (body: RunRequest) => post<RunSnapshot>("runs", body),
  markRun: (id: string, change: Partial<RunMarks>) => request<RunSummary>(`runs/${encodeURIComponent(id)}`, withBody("PATCH", change)),
  deleteRun: (id: string) => request<undefined>(`runs/${encodeURIComponent(id)}`, { method: "DELETE" }),
  log: (id: string) => get<RunLog>(`runs/${encodeURIComponent(id)}/log`),
  /** It takes long and shows something extra: the page does not wait for it, so it is not among what the page is busy with. */
  dryRun: (body: RunRequest) => answer<DryRunAnswer>("dry-run", withBody("POST", body)),
  checkOptions: (body: CheckOptions) => post<OptionProblems>("options", body),
  descriptions: () => get<DescriptionList>("described"),
  checkDescription: (text: string) => post<DescriptionCheck>("described/check", { text }),
  saveDescription: (text: string) => post<Description>("described", { text }),
  deleteDescription: (name: string) => request<undefined>(`described/${encodeURIComponent(name)}`, { method: "DELETE" }),
  cancelRun: (id: string) => post<RunSnapshot>(`runs/${encodeURIComponent(id)}/cancel`, {}),
  makeArtifact: (id: string, form: ArtifactRequest["form"], isAgain = false) => post<RunSnapshot>(`runs/${encodeURIComponent(id)}/artifact${isAgain ? "?again=1" : ""}`, { form }),
  ...questionsBy((run, method, path, body) => request(`runs/${encodeURIComponent(run)}/${path}`, method === "GET" ? {} : withBody(method, body))),
  candidateTable: async (run: string) => unpacked(await get<PackedCandidates>(`runs/${encodeURIComponent(run)}/candidates`)),
  baselinePlan: (run: string, name: string) => get<BaselinePlan>(`runs/${encodeURIComponent(run)}/baselines/${encodeURIComponent(name)}/plan`),
  profile: (run: string) => post<InsideTimes>(`runs/${encodeURIComponent(run)}/profile`, {}),
  /** Two plans; a report finds them by their names. */
  compare: (names: string, body: CompareRequest) => post<TwoPlans>(isReport ? `compare ${names}` : "compare", body),
  trace: (run: string) => get<TraceState>(`runs/${encodeURIComponent(run)}/trace`),
  startTrace: (run: string) => post<TraceState>(`runs/${encodeURIComponent(run)}/trace`, {}),
  dropTrace: (run: string) => request<undefined>(`runs/${encodeURIComponent(run)}/trace`, { method: "DELETE" }),
  traceChunk: (run: string, number: number) => get<TraceChunk>(`runs/${encodeURIComponent(run)}/trace/chunks/${number}`),
  storage: () => get<Storage>("storage"),
  originalOnnx: (model: string) => onnx(`models/${encodeURIComponent(model)}/onnx`),
  partitionedOnnx: (run: string) => onnx(`runs/${encodeURIComponent(run)}/onnx`),
  partitionOnnx: (run: string, partition: string) => onnx(`runs/${encodeURIComponent(run)}/partitions/${encodeURIComponent(partition)}/onnx`),
  exportContents: (id: string) => get<ExportInfo>(`runs/${encodeURIComponent(id)}/export/contents`),
  report: (id: string) => during("report", text(`runs/${encodeURIComponent(id)}/report`, {})),
  exportAddress: (id: string) => address(`runs/${encodeURIComponent(id)}/export`),
  exportFile: (id: string, name: string) => blob(`runs/${encodeURIComponent(id)}/exports/${encodeURIComponent(name)}`),
};

function address(path: string): string {
  return `${config.prefix}/api/v1/${path}`;
}

function get<T>(path: string): Promise<T> {
  return request<T>(path, {});
}

function post<T>(path: string, body: unknown): Promise<T> {
  return request<T>(path, withBody("POST", body));
}

function withBody(method: string, body: unknown): RequestInit {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

function layoutPath(model: string, key: string): string {
  return `models/${encodeURIComponent(model)}/layouts/${key}`;
}

function form(files: readonly File[], shapes: Shapes, values?: Values, region?: string, trust?: boolean): FormData {
  const data = new FormData();
  for (const file of files) data.append("file", file, file.name);
  if (Object.keys(shapes).length > 0) data.append("shapes", JSON.stringify(shapes));
  if (values && Object.keys(values).length > 0) data.append("values", JSON.stringify(values));
  if (region !== undefined) data.append("region", JSON.stringify(region));
  if (trust !== undefined) data.append("trust", JSON.stringify(trust));
  return data;
}

function request<T>(path: string, init: RequestInit): Promise<T> {
  return during(path, answer<T>(path, init));
}

/** An ONNX file, and how many of its tensors the server sent without their values. */
export interface OnnxFile {
  content: Blob;
  leftOut: number;
}

function onnx(path: string): Promise<OnnxFile> {
  return during(path, onnxFile(path));
}

async function onnxFile(path: string): Promise<OnnxFile> {
  if (isReport) throw notInReport();
  const response = await reach(path, {});
  if (!response.ok) throw failure(response.status, await response.text());
  return { content: await response.blob(), leftOut: Number(response.headers.get("X-Collage-Left-Out") ?? 0) };
}

async function downloadable(path: string): Promise<string> {
  const response = await reach(path, {});
  if (!response.ok) throw failure(response.status, await response.text());
  await response.body?.cancel();
  return address(path);
}

/** A file as bytes, of any size. */
function blob(path: string): Promise<Blob> {
  return during(path, fetchedBlob(path));
}

async function fetchedBlob(path: string): Promise<Blob> {
  const response = await reach(path, {});
  if (!response.ok) throw failure(response.status, await response.text());
  return response.blob();
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address(path), init);
  } catch {
    throw new ApiFailure("unreachable", "the server does not answer", "see in its terminal whether `collage explore` still runs");
  }
}

/** From this many bytes on, reading an answer takes so long that a frame is waited for in between. */
const LARGE = 1 << 20;

async function answer<T>(path: string, init: RequestInit): Promise<T> {
  if (isReport) return answerOfReport<T>(`${init.method ?? "GET"} ${path}`);
  const body = await text(path, init);
  if (body === "") return undefined as T;
  if (body.length >= LARGE) await nextFrame();
  const read = JSON.parse(body) as T;
  if (body.length >= LARGE) await nextFrame();
  return read;
}

async function answerOfReport<T>(asked: string): Promise<T> {
  const answer = answerIn(await packedAnswers(), asked);
  if (answer === undefined) throw notInReport();
  return answer as T;
}

function notInReport(): ApiFailure {
  return new ApiFailure("report", "this report does not hold that", "open the run with `collage explore` where it was made");
}

async function text(path: string, init: RequestInit): Promise<string> {
  if (isReport) throw notInReport();
  const response = await reach(path, init);
  const body = response.body ? await decoded(response.body) : "";
  if (response.ok) return body;
  throw failure(response.status, body);
}

/** Decode a body as text, a large one over several frames; `Response.text()` would block for all of it. */
async function decoded(body: ReadableStream<Uint8Array>): Promise<string> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let [text, inFrame] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (done) return text;
    inFrame += value.byteLength;
    if (inFrame < LARGE) continue;
    await nextFrame();
    inFrame = 0;
  }
}

function failure(status: number, text: string): ApiFailure {
  try {
    const { error, choices, regions, inputs } = JSON.parse(text) as ErrorBody;
    return new ApiFailure(error.code, error.message, error.hint, choices, regions, inputs);
  } catch {
    return new ApiFailure("http", `the server answered with status ${status}`, "its log has the details");
  }
}
