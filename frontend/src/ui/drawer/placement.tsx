// Above the partitions of a plan over several locations: what each memory holds as a bar with its limit, the copies between them, and what
// running at the same time could gain.

import type { JSX } from "preact";
import { bytes, duration, percent, plural } from "../../base/format";
import { isReport } from "../../data/config";
import { HOST, locationColours, locationOf } from "../../data/plan/locations";
import type { PlanCopy, PlanInfo, PlanMemory } from "../../data/protocol";
import { DeviceWhatIf } from "./device_what_if";

/** Memory, copies and the bound of parallel running of a plan over several locations. */
export function Placement({ plan }: { plan: PlanInfo }): JSX.Element {
  const { copies, memory, parallel } = plan;
  const colours = locationColours([...plan.partitions.map(locationOf), ...(memory ?? []).map((held) => held.location)]);
  const most = Math.max(...(memory ?? []).map((held) => held.limit ?? held.peak), 1);
  return (
    <section class="placement" aria-label="Devices">
      <ul class="memory">
        {(memory ?? []).map((held) => (
          <Memory key={held.location} held={held} most={most} colour={colours.get(held.location) ?? "var(--grey)"} plan={plan} />
        ))}
      </ul>
      <Copies copies={copies ?? []} colours={colours} />
      {parallel && <p class="muted">{sentence(parallel.text)}</p>}
    </section>
  );
}

function Memory({ held, most, colour, plan }: { held: PlanMemory; most: number; colour: string; plan: PlanInfo }): JSX.Element {
  const { location, weights, peak, limit, node } = held;
  const size = limit ?? most;
  const words = `${location}: ${bytes(peak)}${limit === null ? "" : ` of ${bytes(limit)}`} at most, while the partition of ${node} runs; ${bytes(weights)} are weights`;
  return (
    <li title={words}>
      <Location name={location} colour={colour} />
      <span class="memory-bar" role="img" aria-label={words}>
        <span style={{ width: share(weights, size), background: colour }} />
        <span style={{ width: share(peak - weights, size), background: colour, opacity: 0.5 }} />
      </span>
      <span>{`${bytes(peak)}${limit === null ? "" : ` of ${bytes(limit)} (${percent(peak / limit)})`} at ${node}`}</span> <span class="muted">{`weights ${bytes(weights)}`}</span>
      {location !== HOST && !isReport && <DeviceWhatIf location={location} plan={plan} />}
    </li>
  );
}

function share(part: number, whole: number): string {
  return `${whole > 0 ? (100 * part) / whole : 0}%`;
}

/** A location's name on its colour; plain for the host. */
export function Location({ name, colour }: { name: string; colour: string | undefined }): JSX.Element {
  return name === HOST || colour === undefined ? <span class="tag">{name}</span> : <span class="tag location" style={{ background: colour }}>{name}</span>;
}

function Copies({ copies, colours }: { copies: readonly PlanCopy[]; colours: ReadonlyMap<string, string> }): JSX.Element {
  if (copies.length === 0) return <p>Nothing is copied between devices.</p>;
  const [size, seconds] = [copies.reduce((sum, copy) => sum + copy.bytes, 0), copies.reduce((sum, copy) => sum + copy.cost_s, 0)];
  return (
    <details>
      <summary>{`${plural(copies.length, "copy", "copies")} between devices: ${bytes(size)} in ${duration(seconds)}`}</summary>
      <table class="copies">
        <thead>
          <tr>
            <th scope="col">tensor</th>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col">size</th>
            <th scope="col">time</th>
            <th scope="col">rests on</th>
          </tr>
        </thead>
        <tbody>
          {copies.map((copy) => (
            <tr key={`${copy.tensor} ${copy.to}`}>
              <th scope="row">{copy.tensor}</th>
              <td>
                <Location name={copy.from} colour={colours.get(copy.from)} />
              </td>
              <td>
                <Location name={copy.to} colour={colours.get(copy.to)} />
              </td>
              <td>{bytes(copy.bytes)}</td>
              <td>{duration(copy.cost_s)}</td>
              <td class="muted">{copy.basis}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
