// Netron, opened from the model's menu: a frame with the original, the partitioned model or one partition. The selection is the same on the page
// and in Netron.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../../base/format";
import { begin } from "../../base/idle";
import { asApiError } from "../../data/api";
import { openInFrame, type NetronFrame } from "../../data/netron/frame";
import type { ApiError } from "../../data/protocol";
import { keptPartitions, selectPicked, netronAddress, netronChoice, netronLink, netronModel, NETRON_NODES, selectedTensors, showInNetron, type NetronModel } from "../../state/model/netron";
import { ErrorCard } from "../widgets/error_card";

export function NetronTab(): JSX.Element {
  const [note, setNote] = useState("");
  const shown = netronModel.value;
  if (!shown) return <p class="muted">No model is open.</p>;
  return (
    <div class="filling">
      <div class="table-bar">
        <ModelChoice />
        <span class="muted" role="status">
          {note}
        </span>
        <span class="spacer" />
        <a class="link" href={netronLink(shown)} target="_blank" rel="noopener">
          Open in a tab of its own
        </a>
      </div>
      {shown.nodes > NETRON_NODES ? <TooLarge nodes={shown.nodes} /> : <Frame key={shown.key} shown={shown} say={setNote} />}
    </div>
  );
}

function ModelChoice(): JSX.Element {
  const choice = netronChoice.value;
  const value = choice.kind === "partition" ? choice.id : choice.kind;
  const choose = (next: string): void => showInNetron(next === "original" || next === "partitioned" ? { kind: next } : { kind: "partition", id: next });
  return (
    <select aria-label="Model in Netron" value={value} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="original">Original</option>
      {keptPartitions.value.length > 0 && <option value="partitioned">Partitioned</option>}
      {keptPartitions.value.length > 0 && (
        <optgroup label="Partitions">
          {keptPartitions.value.map((one, i) => (
            <option key={one.id} value={one.id}>
              {`${i + 1}: ${one.target}, ${plural(one.nodes.length, "node")}`}
            </option>
          ))}
        </optgroup>
      )}
    </select>
  );
}

function TooLarge({ nodes }: { nodes: number }): JSX.Element {
  return (
    <p class="muted">
      {`Netron draws every node at once, and with ${count(nodes)} of them this page would stand still meanwhile. Choose a partition, or open it in a tab of its own.`}
    </p>
  );
}

interface FrameProps {
  shown: NetronModel;
  say: (note: string) => void;
}

function Frame({ shown, say }: FrameProps): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    const end = begin("netron");
    let unlink = (): void => undefined;
    say("");
    void show(frame.current, shown, gone.signal)
      .then(({ inside, note }) => {
        say(note);
        setReady(true);
        unlink = link(inside);
      })
      .catch((failure: unknown) => {
        if (!gone.signal.aborted) setError(failure instanceof NetronFailure ? failure.error : asApiError(failure));
      })
      .finally(end);
    return () => {
      gone.abort();
      unlink();
    };
  }, []);
  if (error) return <ErrorCard error={error} />;
  return (
    <iframe
      ref={frame}
      class="netron"
      title={`Netron: ${shown.name}`}
      src={netronAddress}
      sandbox="allow-scripts allow-same-origin allow-downloads"
      aria-busy={!isReady}
    />
  );
}

/** Thrown with Netron's own message and a hint where Netron cannot show the model. */
class NetronFailure extends Error {
  constructor(readonly error: ApiError) {
    super(error.message);
  }
}

async function show(frame: HTMLIFrameElement | null, shown: NetronModel, gone: AbortSignal): Promise<{ inside: NetronFrame; note: string }> {
  if (!frame) throw new Error("the page has no frame for Netron");
  const { content, leftOut } = await shown.load();
  try {
    const inside = await openInFrame(frame, new File([content], shown.name), gone);
    return { inside, note: leftOut > 0 ? `${plural(leftOut, "tensor")} without values: too large to be sent` : "" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new NetronFailure({ code: "netron", message: `Netron cannot show ${shown.name}: ${message}`, hint: "choose a partition, or open the tab again" });
  }
}

/** Keep the selections of page and Netron equal; returns the function that ends it. Netron gets no node back that it just selected. */
function link(inside: NetronFrame): () => void {
  let fromThere: string | undefined;
  const stopFollowing = inside.onPick((picked) => {
    fromThere = picked.outputs[0];
    selectPicked(picked);
  });
  const stopShowing = effect(() => {
    const tensors = selectedTensors.value;
    if (fromThere === undefined || !tensors.has(fromThere)) inside.select(tensors);
    fromThere = undefined;
  });
  return () => {
    stopFollowing();
    stopShowing();
  };
}
