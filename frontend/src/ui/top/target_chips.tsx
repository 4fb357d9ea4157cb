// The targets as chips, which switch them on or off. Variants and libraries that are off, and unusable ones with reason and remedy, wait
// behind "more".

import type { JSX } from "preact";
import type { ToolchainInfo } from "../../data/protocol";
import { switchedOff, toolchains } from "../../state/model/catalogue";
import { isDeciding, switchTarget } from "../../state/plan/decisions";
import { Badge } from "../widgets/badge";
import { Popover } from "../widgets/popover";
import { WhyUnusable } from "../widgets/why_unusable";

export function TargetChips(): JSX.Element {
  const hidden = toolchains.value.filter(waits);
  return (
    <div class="chips" role="group" aria-label="Targets">
      {toolchains.value
        .filter((one) => !waits(one))
        .map((one) => (
          <Chip key={one.name} toolchain={one} />
        ))}
      {hidden.length > 0 && (
        <Popover content={`+${hidden.length} more`} label="More targets" class="chip more">
          {(close) => <Hidden toolchains={hidden} close={close} />}
        </Popover>
      )}
    </div>
  );
}

/** True if a chip would only take room: a target that cannot be used, and a variant of a toolchain (name@variant) or a library of calls that is off. */
function waits({ name, usable, style, described }: ToolchainInfo): boolean {
  const isSpecial = name.includes("@") || (style === "library" && !described);
  return !usable || (isSpecial && switchedOff.value.has(name));
}

function Hidden({ toolchains: hidden, close }: { toolchains: ToolchainInfo[]; close: () => void }): JSX.Element {
  return (
    <ul class="more-targets">
      {hidden.map((one) => (
        <li key={one.name}>{one.usable ? <Chip toolchain={one} then={close} /> : <Missing toolchain={one} />}</li>
      ))}
    </ul>
  );
}

function Chip({ toolchain, then }: { toolchain: ToolchainInfo; then?: () => void }): JSX.Element {
  const isOn = !switchedOff.value.has(toolchain.name);
  const { name, version, device, precision, described } = toolchain;
  const state = isOn ? "" : "off: ";
  const title = described ? `${name} · only described: its costs are estimates` : `${name} ${version} · ${device} · ${precision}`;
  const flip = (): void => {
    void switchTarget(name);
    then?.();
  };
  return (
    <button type="button" class={isOn ? "chip" : "chip off"} aria-pressed={isOn} title={`${state}${title}`} disabled={isDeciding.value} onClick={flip}>
      <Badge target={name} isOff={!isOn} />
      <span class="chip-name">{name}</span>
    </button>
  );
}

function Missing({ toolchain }: { toolchain: ToolchainInfo }): JSX.Element {
  return (
    <>
      <span class="chip missing">
        <Badge target={toolchain.name} isOff />
        {toolchain.name}
      </span>
      <WhyUnusable toolchain={toolchain} />
    </>
  );
}
