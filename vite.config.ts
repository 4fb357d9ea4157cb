// Builds the page into collage_server/static/dist with a manifest; the server's shell loads the entry `frontend/src/main.tsx` from it.
// Addresses in the built files are relative, so that the page works under any path prefix.
// In the mode "report" it builds the same page as one script and one style sheet into collage_server/static/dist/report, which a report has inside.
import { defineConfig, type ViteUserConfig } from "vitest/config";

const INLINE_WORKER = decodeURIComponent(new URL("frontend/src/graph/layout/start_inline_worker.ts", import.meta.url).pathname);

const STATE_TESTS = "frontend/src/state/**/*.test.ts";

/** The options of the build in which the two modes differ. */
const PAGE: ViteUserConfig["build"] = {
  outDir: "collage_server/static/dist",
  manifest: true,
  // The code that the entry shares with files loaded later goes into one file; else each set of sharers would have a file of its own.
  rolldownOptions: { input: "frontend/src/main.tsx", output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 2 }] } } },
};
const REPORT: ViteUserConfig["build"] = {
  outDir: "collage_server/static/dist/report",
  cssCodeSplit: false,
  rolldownOptions: {
    input: "frontend/src/main.tsx",
    output: { codeSplitting: false, entryFileNames: "report.js", assetFileNames: "report[extname]" },
  },
};

// `npm run dev` builds again on every change; `make run` beside it serves the page.
export default defineConfig(({ mode }): ViteUserConfig => ({
  base: "./",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: { alias: mode === "report" ? [{ find: /^\.\/start_worker$/, replacement: INLINE_WORKER }] : [] },
  build: {
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: mode === "report" ? 2000 : 1200, // Plotly, which the page loads when a chart is opened
    ...(mode === "report" ? REPORT : PAGE),
  },
  worker: { format: mode === "report" ? "iife" : "es" }, // a browser starts no module as the worker of a document on disk
  test: {
    environment: "node",
    testTimeout: 60_000, // a busy machine needs more than five seconds
    pool: "threads",
    projects: [
      // What files keep in signals would be seen by the next test file in the same thread; all else has nothing to leave there.
      { extends: true, test: { name: "state", include: [STATE_TESTS] } },
      { extends: true, test: { name: "page", include: ["frontend/**/*.test.ts"], exclude: [STATE_TESTS], isolate: false } },
    ],
  },
}));
