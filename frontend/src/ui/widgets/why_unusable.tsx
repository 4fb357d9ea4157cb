// Why a toolchain cannot be used here.

import type { JSX } from "preact";
import type { ToolchainInfo } from "../../data/protocol";
import { CopyButton } from "./copy_button";

/** Why a toolchain cannot be used, and what mends that, to be copied. */
export function WhyUnusable({ toolchain: { name, reason, hint } }: { toolchain: ToolchainInfo }): JSX.Element {
  return (
    <div class="why-not">
      <p>{reason}</p>
      {hint !== "" && (
        <p class="mends">
          <code>{hint}</code>
          <CopyButton text={hint} label={`Copy what mends ${name}`} />
        </p>
      )}
    </div>
  );
}
