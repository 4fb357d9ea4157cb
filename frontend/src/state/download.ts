// Files that leave the page: an address to fetch, or text that the page made itself.

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
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  save(address, name.replace(/[^\w.-]+/g, "_"));
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
