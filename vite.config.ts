// Builds the page into static/dist with a manifest; the server's shell loads the entry `frontend/src/main.tsx` from it.
// Addresses in the built files are relative, so that the page works under any path prefix.
import { defineConfig } from "vitest/config";

// `npm run dev` serves the sources as they are edited; requests go to an explorer that runs beside it (`make run`).
const SERVER = "http://127.0.0.1:8765";

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
    rolldownOptions: { input: "frontend/src/main.tsx" },
  },
  worker: { format: "es" },
  server: {
    proxy: { "/api": SERVER, "/socket.io": { target: SERVER, ws: true } },
    watch: { ignored: ["**/.venv/**", "**/collage_core/**", "**/server/**", "**/tests/**"] },
  },
  test: { include: ["frontend/**/*.test.ts"], environment: "node" },
});
