// A plan of the user's own: the devices that it names, and its apparent loss in words. Pure.

import { duration, plural } from "../../base/format";
import type { CostedPlan, AgainstRequest, TotalRow } from "../protocol";

/** The text "CPU=openvino, CUDA=tensorrt" as device → target; the mistake in it where there is one. */
export function parseDevices(text: string): { devices: Record<string, string> } | { mistake: string } {
  const devices: Record<string, string> = {};
  for (const part of text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean)) {
    const at = part.lastIndexOf("=");
    const [device, target] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (at < 1 || device === "" || target === "") return { mistake: `${JSON.stringify(part)} must be DEVICE=TARGET` };
    devices[device] = target;
  }
  return { devices };
}

/** The apparent loss as the command line says it; then what is not known, and what was ignored. */
export function lossLines({ apparent_loss_s: lossS, unknown, ignored }: CostedPlan): string[] {
  const estimate = unknown.length > 0 ? " (an estimate: not all of its costs were measured to their end)" : "";
  const lines = lossS === null ? ["its total is not known"] : [`this run's plan is predicted ${duration(Math.abs(lossS))} ${lossS <= 0 ? "faster" : "slower"} than yours${estimate}`];
  for (const part of unknown.slice(0, FEW)) lines.push(`not known: ${plural(part.nodes.length, "node")} from ${part.names[0] ?? ""} on ${part.target}: ${part.reason}`);
  if (unknown.length > FEW) lines.push(`and ${plural(unknown.length - FEW, "other part")} that are not known`);
  if (ignored.length > 0) lines.push(`your plan has ${plural(ignored.length, "name")} of no node of the model as it was planned: ${ignored.slice(0, FEW).join(", ")}${ignored.length > FEW ? " …" : ""}`);
  return lines;
}

/** How the run's plan compares with the given one, `beside` which it was timed end to end in turns. */
export function measuredLine({ time, against }: TotalRow): string {
  const took = time.measured_s === null ? "" : ` takes ${duration(time.measured_s)}`;
  return `timed end to end in turns, this run's plan${took}, against yours: ${against}`;
}

/** The command that measures a given plan whole beside that of an exported run. */
export function measureCommand({ name, devices }: Required<AgainstRequest>): string {
  const quoted = (text: string): string => (/^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
  const named = Object.entries(devices).map(([device, target]) => ` --as ${quoted(`${device}=${target}`)}`);
  return `collage explain plan.json --against ${quoted(name === PASTED ? "mine.txt" : name)}${named.join("")} --measure MODEL`;
}

/** The name of a plan that was typed or pasted. */
export const PASTED = "pasted";

const FEW = 6;
