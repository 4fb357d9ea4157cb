// The imports between the page's files, read from their text: type-only imports, `import()` and workers (`new URL()`) included.

import ts from "typescript";

/** File → the files that it imports; all by their paths. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** The graph of some files, given as path → text. Packages, styles and data are left out. */
export function importGraph(texts: Readonly<Record<string, string>>): ImportGraph {
  return new Map(Object.entries(texts).map(([path, text]) => [path, specifiersIn(text).flatMap((specifier) => resolved(path, specifier, texts) ?? [])]));
}

function specifiersIn(text: string): string[] {
  const imported = ts.preProcessFile(text, true, true).importedFiles.map((one) => one.fileName);
  return [...imported, ...[...text.matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g)].map((found) => found[1] ?? "")];
}

function resolved(from: string, specifier: string, texts: Readonly<Record<string, string>>): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  const parts = from.split("/").slice(0, -1);
  for (const step of specifier.split("/")) {
    if (step === "..") parts.pop();
    else if (step !== ".") parts.push(step);
  }
  const path = parts.join("/");
  return ["", ".ts", ".tsx"].map((ending) => path + ending).find((one) => one in texts);
}

/** A circle of imports, its first file named again at the end; undefined where there is none. */
export function circleIn(graph: ImportGraph): string[] | undefined {
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return undefined;
    way.push(file);
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    way.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle) return circle;
  }
  return undefined;
}
