// The linter's rules for the page: typescript-eslint's type-checked sets, the sizes that the project keeps to, and which layer may
// import what. That no files import each other in a circle is checked by frontend/test/imports.test.ts.
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/**
 * The layers of frontend/src, from the bottom up. A file imports its own layer and those before it; beside each layer stand the
 * packages that it may import. `main.tsx` is above all of them.
 */
const LAYERS = [
  ["base", []],
  ["data", ["immutable-json-patch"]],
  ["graph", ["@dagrejs/dagre"]],
  ["state", ["@preact/signals", "socket.io-client"]],
  ["ui", ["@preact/signals", "plotly.js-basic-dist-min", "preact", "preact/hooks"]],
];

/** The rules of one layer: static imports and re-exports, whether of types or values; then `import()` and `new URL()`, as workers are named. */
function layerRules([layer, packages], index, isTest) {
  const above = LAYERS.slice(index + 1).map(([name]) => name);
  const message = `'${layer}' may import ${[...LAYERS.slice(0, index).map(([name]) => `'${name}'`), ...packages].join(", ") || "nothing outside itself"} (LAYERS in eslint.config.js).`;
  const outside = [`(^|[/])[.][.][/](${[...above, "main$"].join("|")})([/]|$)`];
  if (!isTest) outside.push("(^|[/])test[/]", `^(?![.])(?!(${packages.join("|")})$)`);
  const selector = (parent, regex) => ({ selector: `${parent} > Literal[value=/${regex.replaceAll("/", "\\u002F")}/]`, message });
  return {
    "no-restricted-imports": ["error", { patterns: outside.map((regex) => ({ regex, message })) }],
    "no-restricted-syntax": ["error", ...outside.flatMap((regex) => [selector("ImportExpression", regex), selector("NewExpression[callee.name='URL']", regex)])],
  };
}

const layers = LAYERS.flatMap((layer, index) => [
  { files: [`frontend/src/${layer[0]}/**`], ignores: ["**/*.test.ts"], rules: layerRules(layer, index, false) },
  { files: [`frontend/src/${layer[0]}/**/*.test.ts`], rules: layerRules(layer, index, true) },
]);

export default defineConfig(
  { ignores: ["collage_server/static/**", "node_modules/**", ".venv/**", "build/**", "dist/**", "out/**", "site/**", "frontend/src/data/protocol.ts"] },
  {
    files: ["frontend/**/*.{ts,tsx}", "vite.config.ts"],
    extends: [tseslint.configs.recommendedTypeChecked, tseslint.configs.stylistic],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "max-lines": ["error", 320],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      complexity: ["error", 16],
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
      "@typescript-eslint/consistent-type-imports": "error",
    },
  },
  { files: ["frontend/**/*.test.ts"], rules: { "max-lines-per-function": "off" } },
  ...layers,
);
