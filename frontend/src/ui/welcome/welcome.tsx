// The page without a model: the samples as cards, files to open, and the error of a model that could not be opened, or the form for a missing shape.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { bytes } from "../../base/format";
import { config } from "../../data/config";
import type { PageError, Shapes, Values } from "../../data/api";
import type { SampleInfo } from "../../data/protocol";
import { catalogueError, loadCatalogue, loadStorage, samples, storage, toolchains } from "../../state/model/catalogue";
import { modelState, type Source } from "../../state/model/model";
import { closeModel, openSource } from "../../state/model/open";
import { forgetOpening } from "../../state/model/typed_shapes";
import { ErrorCard } from "../widgets/error_card";
import { FilePicker } from "./drop_zone";
import { OpenedBefore } from "./opened_before";
import { RegionChoice } from "./region_choice";
import { Result } from "./result";
import { ShapeForm } from "./shape_form";
import { TrustQuestion } from "./trust_question";

export function Welcome(): JSX.Element {
  const state = modelState.value;
  if (state.kind === "loading") {
    return (
      <main class="welcome" aria-busy="true">
        <p class="loading">Opening {state.what}…</p>
      </main>
    );
  }
  return (
    <main class="welcome">
      {state.kind === "failed" && <Failed error={state.error} source={state.source} shapes={state.shapes} />}
      {catalogueError.value && (
        <ErrorCard error={catalogueError.value}>
          <button type="button" onClick={() => void loadCatalogue()}>
            Try again
          </button>
        </ErrorCard>
      )}
      <h1>Which toolchain should run which part of your model?</h1>
      <p class="lead">Open a model, see its graph, and let Collage find the fastest way to run it over several toolchains at once. You can ask why, and overrule it.</p>
      <div class="open-own">
        <FilePicker />
        {config.local_paths ? <PathField /> : <NotTrusted />}
      </div>
      <OpenedBefore />
      <h2>Samples</h2>
      <ul class="cards">
        {samples.value.map((sample) => (
          <SampleCard key={sample.name} sample={sample} />
        ))}
      </ul>
      <NoToolchains />
      <Kept />
    </main>
  );
}

function SampleCard({ sample }: { sample: SampleInfo }): JSX.Element {
  return (
    <li>
      <button type="button" class="card" onClick={() => void openSource({ kind: "sample", name: sample.name })}>
        <b>{sample.title}</b>
        <span class="muted">{sample.description}</span>
        {sample.result && (
          <span>
            <Result result={sample.result} /> <span class="tag">recorded run</span>
          </span>
        )}
      </button>
    </li>
  );
}

/** The folder in which everything is kept, and its size. */
export function Kept(): JSX.Element | null {
  useEffect(() => void loadStorage(), []);
  const kept = storage.value;
  if (!kept) return null;
  return (
    <p class="muted kept">
      Models, runs and measurements are kept in <code>{kept.folder}</code>: {bytes(kept.size_bytes)}.
    </p>
  );
}

/** A note where no toolchain is usable: what still works, and what to install. */
function NoToolchains(): JSX.Element | null {
  const missing = toolchains.value.filter((one) => !one.usable);
  if (toolchains.value.length === 0 || missing.length < toolchains.value.length) return null;
  return (
    <p class="note">
      No toolchain can be used here: graphs and recorded runs can be looked at. {missing.map((one) => one.hint).filter(Boolean).join("; ")}
    </p>
  );
}

/** A note that neither paths nor programs are accepted, and how to turn them on. */
function NotTrusted(): JSX.Element {
  return (
    <p class="muted">
      This page accepts neither programs (.py, .pt2) nor the paths of files: it is reached through a proxy, from other machines, or without a token.{" "}
      <code>collage explore FILE</code> opens one where the explorer is started.
    </p>
  );
}

function PathField(): JSX.Element {
  const path = useSignal("");
  const open = (event: Event): void => {
    event.preventDefault();
    if (path.value.trim() !== "") void openSource({ kind: "path", path: path.value.trim() });
  };
  return (
    <form class="path" onSubmit={open}>
      <label>
        or a file on this machine <input type="text" placeholder="/path/to/model.onnx" value={path.value} onInput={(event) => (path.value = event.currentTarget.value)} />
      </label>
      <button type="submit">Open</button>
    </form>
  );
}

/** The models in a folder that was named in place of one: each opens with a click. */
function Choices({ paths }: { paths: readonly string[] }): JSX.Element {
  return (
    <ul class="choices" aria-label="Models in the folder">
      {paths.map((path) => (
        <li key={path}>
          <button type="button" class="link" onClick={() => void openSource({ kind: "path", path })}>
            {path}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The error of a model that could not be opened; or, where it only lacks a shape, a region or the user's trust, what asks for it. */
function Failed({ error, source, shapes }: { error: PageError; source: Source; shapes: Shapes }): JSX.Element {
  if (error.inputs && error.inputs.length > 0) {
    const open = (sizes: Shapes, values: Values): void => void openSource(source.kind === "session" || source.kind === "id" ? source : { ...source, values }, sizes);
    return <ShapeForm source={source} inputs={error.inputs} verb="Open" send={open} close={closeModel} />;
  }
  if (error.code === "asks_trust") return <TrustQuestion source={source} shapes={shapes} error={error} />;
  if (error.regions && error.regions.length > 0) return <RegionChoice source={source} shapes={shapes} regions={error.regions} />;
  const dismiss = (): void => {
    forgetOpening(source);
    closeModel();
  };
  return (
    <ErrorCard error={error}>
      {error.choices && error.choices.length > 0 && <Choices paths={error.choices} />}
      <button type="button" onClick={dismiss}>
        Dismiss
      </button>
    </ErrorCard>
  );
}
