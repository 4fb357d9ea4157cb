// The page's configuration, which the server's shell gives as JSON in `data-config` of the element `#app`. Read once.

import type { PageConfig } from "./protocol";

const FALLBACK: PageConfig = { version: "", prefix: "", model: null, local_paths: false, upload_bytes: 0, run: null };

export const config: PageConfig = read();

function read(): PageConfig {
  const text = typeof document === "undefined" ? undefined : document.getElementById("app")?.dataset["config"];
  return text ? { ...FALLBACK, ...(JSON.parse(text) as Partial<PageConfig>) } : FALLBACK;
}
