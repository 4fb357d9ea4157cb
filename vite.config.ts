// Builds the page into static/dist with a manifest; the server's shell loads the entry `frontend/src/main.tsx` from it.
// Addresses in the built files are relative, so that the page works under any path prefix.
import { defineConfig } from "vitest/config";

// `npm run dev` builds again on every change; `make run` beside it serves the page.
export default defineConfig({
  base: "./",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "static/dist",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200, // Plotly, which is loaded when a chart is opened
    rolldownOptions: {
      input: "frontend/src/main.tsx",
      // The code that the entry shares with files loaded later goes into one file; else each set of sharers would have a file of its own.
      output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 2 }] } },
    },
  },
  worker: { format: "es" },
  test: { include: ["frontend/**/*.test.ts"], environment: "node", testTimeout: 60_000 }, // a busy machine needs more than five seconds
});
