// The linter's rules for the page: typescript-eslint's type-checked sets, and the sizes that the project keeps to.
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["static/**", "node_modules/**", ".venv/**", "build/**", "dist/**", "out/**", "frontend/src/data/protocol.ts"] },
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
);
