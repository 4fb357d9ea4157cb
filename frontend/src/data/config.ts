// The page's configuration, which the server's shell gives as JSON in `data-config` of the element `#app`. Read once.

import type { PageConfig } from "./protocol";

const FALLBACK: PageConfig = { version: "", prefix: "", model: null, local_paths: false, upload_bytes: 0, run: null, report: null };

export const config: PageConfig = read();

/** True in a report: a file of its own with the data of one run, in which nothing can be decided, measured or stored. */
export const isReport = config.report !== null;

function read(): PageConfig {
  const text = typeof document === "undefined" ? undefined : document.getElementById("app")?.dataset["config"];
  return text ? { ...FALLBACK, ...(JSON.parse(text) as Partial<PageConfig>) } : FALLBACK;
}
