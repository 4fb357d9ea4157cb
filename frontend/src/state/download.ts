// What leaves the page: a file at an address, or what the page made itself, as a file or by the clipboard.

/** Let the browser save what lies at an address; `name` only where the server gives none. */
export function save(address: string, name = ""): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** Save a text as a file. */
export function saveText(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** Save what the page made as a file; of its name only what every file system takes. */
export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  save(address, fileName(name));
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, "_");
}

/** Copy a text; whether that went well. Where the page did not come over a secure connection, there is only the old way. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return isCopied;
  }
}
