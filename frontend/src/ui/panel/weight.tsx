// A weight in the panel: what its values are like, a histogram, and the values page by page; fetched when it is unfolded.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { attribute, bytes, count, percent, plural } from "../../base/format";
import { api, asApiError } from "../../data/api";
import { isReport } from "../../data/config";
import type { ApiError, Histogram, WeightValues } from "../../data/protocol";
import { model } from "../../state/model/model";
import { ErrorCard } from "../widgets/error_card";

const PAGE = 100;

/** @param children the weight's type, on which a click unfolds its values. */
export function Weight({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  const known = useSignal<WeightValues | null>(null);
  const error = useSignal<ApiError | null>(null);
  const info = model.value?.info;
  if (isReport || !info?.is_onnx) return <>{children}</>;
  const load = async (first: number): Promise<void> => {
    try {
      known.value = await api.weight(info.id, name, first, PAGE);
      error.value = null;
    } catch (thrown) {
      error.value = asApiError(thrown);
    }
  };
  const toggled = (event: Event & { currentTarget: HTMLDetailsElement }): void => {
    if (event.currentTarget.open && !known.value && !error.value) void load(0);
  };
  return (
    <details class="weight" onToggle={toggled}>
      <summary>{children}</summary>
      {error.value && <ErrorCard error={error.value} />}
      {known.value && <Values known={known.value} show={(first) => void load(first)} />}
    </details>
  );
}

function Values({ known, show }: { known: WeightValues; show: (first: number) => void }): JSX.Element {
  const { first, size, values } = known;
  const last = first + values.length;
  return (
    <>
      <p class="muted">
        {plural(size, "value")}, {bytes(known.bytes)}
        {known.minimum !== null && `; ${attribute(known.minimum)} to ${attribute(known.maximum)}, mean ${attribute(known.mean)}, deviation ${attribute(known.deviation)}`}
        {known.zeros !== null && `; ${percent(known.zeros)} zeros`}
        {known.not_finite > 0 && `; ${count(known.not_finite)} NaN or infinite`}
      </p>
      {known.histogram && known.histogram.counts.length > 1 && <Bars histogram={known.histogram} />}
      <code class="values">{attribute(values)}</code>
      {size > PAGE && (
        <p>
          <button type="button" disabled={first === 0} onClick={() => show(Math.max(0, first - PAGE))}>
            Before
          </button>{" "}
          <span class="muted">{`${count(first)} to ${count(last - 1)}`}</span>{" "}
          <button type="button" disabled={last >= size} onClick={() => show(last)}>
            Next
          </button>
        </p>
      )}
    </>
  );
}

const HEIGHT = 40;

function Bars({ histogram: { low, high, counts } }: { histogram: Histogram }): JSX.Element {
  const most = Math.max(...counts, 1);
  return (
    <svg class="histogram" role="img" aria-label={`Histogram from ${attribute(low)} to ${attribute(high)}`} viewBox={`0 0 ${counts.length} ${HEIGHT}`} preserveAspectRatio="none">
      {counts.map((one, i) => (
        <rect key={i} x={i} width={0.9} y={HEIGHT - (HEIGHT * one) / most} height={(HEIGHT * one) / most} />
      ))}
    </svg>
  );
}
