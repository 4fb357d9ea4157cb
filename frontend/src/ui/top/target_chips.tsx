// The targets as chips, which switch them on or off; the chip of an unusable one shows the reason and a remedy.

import type { JSX } from "preact";
import type { ToolchainInfo } from "../../data/protocol";
import { switchedOff, toolchains } from "../../state/model/catalogue";
import { isDeciding, switchTarget } from "../../state/plan/decisions";
import { Badge } from "../widgets/badge";
import { Popover } from "../widgets/popover";
import { WhyUnusable } from "../widgets/why_unusable";

export function TargetChips(): JSX.Element {
  const usable = toolchains.value.filter((one) => one.usable);
  const missing = toolchains.value.filter((one) => !one.usable);
  return (
    <div class="chips" role="group" aria-label="Targets">
      {usable.map((one) => (
        <Chip key={one.name} toolchain={one} />
      ))}
      {missing.map((one) => (
        <MissingChip key={one.name} toolchain={one} />
      ))}
    </div>
  );
}

function Chip({ toolchain }: { toolchain: ToolchainInfo }): JSX.Element {
  const isOn = !switchedOff.value.has(toolchain.name);
  const { name, version, device, precision, described } = toolchain;
  const title = described ? `${name} · only described: its costs are estimates` : `${name} ${version} · ${device} · ${precision}`;
  return (
    <button type="button" class={isOn ? "chip" : "chip off"} aria-pressed={isOn} title={title} disabled={isDeciding.value} onClick={() => void switchTarget(name)}>
      <Badge target={name} isOff={!isOn} />
      {name}
    </button>
  );
}

function MissingChip({ toolchain }: { toolchain: ToolchainInfo }): JSX.Element {
  const content = (
    <>
      <Badge target={toolchain.name} isOff />
      <u>{toolchain.name}</u>
    </>
  );
  return (
    <Popover content={content} label={`Why ${toolchain.name} cannot be used`} class="chip missing">
      {() => <WhyUnusable toolchain={toolchain} />}
    </Popover>
  );
}
