// The reason why a toolchain cannot be used on this machine, and the command that helps.

import type { JSX } from "preact";
import type { ToolchainInfo } from "../../data/protocol";
import { CopyButton } from "./copy_button";

/** The reason why a toolchain cannot be used, and the command that makes it usable, to be copied. */
export function WhyUnusable({ toolchain: { name, reason, hint } }: { toolchain: ToolchainInfo }): JSX.Element {
  return (
    <div class="why-not">
      <p>{reason}</p>
      {hint !== "" && (
        <p class="remedy">
          <code>{hint}</code>
          <CopyButton text={hint} label={`Copy the command that makes ${name} usable`} />
        </p>
      )}
    </div>
  );
}
