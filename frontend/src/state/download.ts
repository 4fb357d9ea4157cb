// Saves files, from an address or made by the page, and copies texts to the clipboard.

/** Let the browser save the file at an address; `name` is needed only where the server gives none. */
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

/** Save data as a file; characters of its name that some file systems refuse are replaced. */
export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  save(address, fileName(name));
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, "_");
}

/** Copy a text, and return whether that worked. Without a secure connection only the old command is available. */
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
