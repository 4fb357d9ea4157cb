// Name patterns as the engine reads them (Python's `fnmatch`, case matters): * stands for anything, ? for one character, [ab],
// [a-z] and [!ab] for one of several. Pure.

/** The pattern as a regular expression. */
export function globExpression(pattern: string): RegExp {
  let text = "";
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? "";
    const end = char === "[" ? closing(pattern, at) : -1;
    if (char === "*") text += "[^]*";
    else if (char === "?") text += "[^]";
    else if (end > 0) {
      text += choice(pattern.slice(at + 1, end));
      at = end;
    } else text += char.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  }
  return new RegExp(`^${text}$`, "u");
}

/** The index of the bracket that closes the choice at `at`; -1 where none does, so that the opening one stands for itself. */
function closing(pattern: string, at: number): number {
  const isNegated = pattern[at + 1] === "!";
  return pattern.indexOf("]", at + (isNegated ? 3 : 2));
}

function choice(inside: string): string {
  const isNegated = inside.startsWith("!");
  const parts = (isNegated ? inside.slice(1) : inside).match(/[^]-[^]|[^]/gu) ?? [];
  const kept = parts.filter((part) => [...part].length < 3 || (part[0] ?? "") <= (part[part.length - 1] ?? ""));
  const escaped = kept.map((part) => (part.length > 1 && part.includes("-", 1) ? [...part].map((char, i) => (i === 1 ? "-" : escape(char))).join("") : escape(part)));
  if (escaped.length === 0) return isNegated ? "[^]" : "(?!)";
  return `[${isNegated ? "^" : ""}${escaped.join("")}]`;
}

function escape(char: string): string {
  return /[\\\]^[-]/.test(char) ? `\\${char}` : char;
}

/** A pattern for names like this one: any number in place of each of its numbers. */
export function suggestedPattern(name: string): string {
  return name.replace(/[[*?]/g, (char) => `[${char}]`).replace(/\d+/g, "*");
}
