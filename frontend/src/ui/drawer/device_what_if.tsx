// What if a device had another memory or another link, or were not there: buttons for each device, and the curve that was asked for.

import type { JSX } from "preact";
import { vetoLocation } from "../../data/plan/constraints";
import { marksOf, pointsOf } from "../../data/plan/device_curve";
import type { DeviceCurve, PlanInfo } from "../../data/protocol";
import { decide, isDeciding } from "../../state/plan/decisions";
import { point } from "../../state/selection/navigation";
import { askCurve, curveError, deviceCurve, isAskingCurve, type Quantity } from "../../state/tables/device_curve";
import { ErrorCard } from "../widgets/error_card";

const [WIDTH, HEIGHT] = [320, 90];
const QUANTITIES: readonly [Quantity, string, string][] = [
  ["memory", "Memory of another size", "The best plan for each size of its memory, from known costs"],
  ["link", "Link of another speed", "The best plan for each speed of the copies to it and from it, from known costs"],
];

/** The questions about one device, and the answer where it is about this one. */
export function DeviceWhatIf({ location, plan }: { location: string; plan: PlanInfo }): JSX.Element {
  const curve = deviceCurve.value?.location === location ? deviceCurve.value : null;
  return (
    <>
      <span class="device-questions" role="group" aria-label={`What if ${location} were another one`}>
        {QUANTITIES.map(([quantity, words, title]) => (
          <button key={quantity} type="button" class="link" disabled={isAskingCurve.value} aria-pressed={curve?.quantity === quantity} title={title} onClick={() => void askCurve(location, quantity)}>
            {words}
          </button>
        ))}
        <button type="button" class="link" disabled={isDeciding.value} title={`The best plan without ${location}: a veto, which can be taken back`} onClick={() => void decide(vetoLocation(location))}>
          Without it
        </button>
      </span>
      {curveError.value && <ErrorCard error={curveError.value} />}
      {curve && <Curve curve={curve} held={plan.memory?.find((one) => one.location === location)?.peak ?? 0} />}
    </>
  );
}

function Curve({ curve, held }: { curve: DeviceCurve; held: number }): JSX.Element {
  const lines = pointsOf(curve, WIDTH, HEIGHT).map((points) => `M${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" L")}`);
  return (
    <div class="device-curve">
      <svg viewBox={`-4 -4 ${WIDTH + 8} ${HEIGHT + 8}`} width={WIDTH} height={HEIGHT} role="img" aria-label={`Predicted total by the ${curve.quantity} of ${curve.location}, from 0 up`}>
        <path d={`M0,0 V${HEIGHT} H${WIDTH}`} fill="none" stroke="var(--line)" />
        <path d={lines.join(" ")} fill="none" stroke="currentColor" stroke-width="2" />
      </svg>
      <ol>
        {curve.pieces.map((piece, index) => (
          <li key={piece.first} onPointerEnter={() => point(piece.nodes)} onPointerLeave={() => point([])}>
            {curve.texts[index]}
            {marksOf(curve, held, piece).map((mark) => (
              <span key={mark} class="tag">
                {mark}
              </span>
            ))}
          </li>
        ))}
      </ol>
      {!curve.is_complete && <p class="muted">Not every size was searched: the time was over.</p>}
    </div>
  );
}
