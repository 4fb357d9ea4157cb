// Texts of strangers as the page shows them: what does not print, or turns the direction of reading, is escaped. Pure.

const PLAIN = /^[\x20-\x7e\n\t]*$/;
/** The characters that Python's `str.isprintable` refuses: the Unicode categories "other" and "separator", but for the space. */
const UNPRINTABLE = /[\p{C}\p{Z}]/gu;

/** The text with everything escaped that does not print, as `collage_core.errors.printable` does; line ends and tabs stay. */
export function printable(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNPRINTABLE, escaped);
}

function escaped(char: string): string {
  if (char === " " || char === "\n" || char === "\t") return char;
  if (char === "\r") return "\\r";
  const code = char.codePointAt(0) ?? 0;
  const hex = (width: number): string => code.toString(16).padStart(width, "0");
  if (code < 0x100) return `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
