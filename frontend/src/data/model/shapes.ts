// Reads input shapes as a user types them: `input=1,3,224,224`, several separated by spaces or semicolons. Pure.

/** The shape of each input by its name; null where the text has no such form. Names may hold anything but spaces and semicolons. */
export function parseShapes(text: string): Record<string, number[]> | null {
  const shapes: Record<string, number[]> = {};
  for (const part of text.split(/[\s;]+/).filter(Boolean)) {
    const at = part.lastIndexOf("=");
    const sizes = part.slice(at + 1).split(/[,x×]/).map(Number);
    if (at < 1 || sizes.some((size) => !Number.isInteger(size) || size < 1)) return null;
    shapes[part.slice(0, at)] = sizes;
  }
  return shapes;
}
