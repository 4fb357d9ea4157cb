// Drives Netron in a frame. This is the only file that relies on Netron's insides, those of the version that pyproject.toml pins;
// tests/browser/test_netron.py compares them with what is assumed here, and fails when another version differs.

interface Drawn {
  value: unknown;
}

interface NetronNode {
  name: string;
  outputs: readonly { value: readonly ({ name: string } | null)[] }[];
}

interface Target {
  selection: Iterable<Drawn>;
  select(values: readonly NetronNode[] | null): Element[] | null;
  scrollTo(elements: readonly Element[], behaviour?: ScrollBehavior): void;
}

interface View {
  target: Target | null;
  activeTarget: { nodes: readonly NetronNode[] } | null;
  host: { openURL: (url: string) => void };
}

type NetronWindow = Window & typeof globalThis & { __view__?: View };

/** The node that is selected in Netron: the names of the tensors that it makes, and its own name. */
export interface Picked {
  outputs: readonly string[];
  name: string;
}

const PATIENCE_MS = 90_000;

/** A frame in which Netron shows a model. */
export class NetronFrame {
  constructor(private readonly frame: HTMLIFrameElement) {}

  /** Select the nodes that make these tensors and scroll to them; returns how many there are. */
  select(outputs: ReadonlySet<string>): number {
    const view = viewOf(this.frame);
    if (!view?.target) return 0;
    const chosen = (view.activeTarget?.nodes ?? []).filter((node) => outputsOf(node).some((name) => outputs.has(name)));
    const elements = view.target.select(chosen.length > 0 ? chosen : null) ?? [];
    if (elements.length > 0) view.target.scrollTo(elements, matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");
    return chosen.length;
  }

  /** Call `tell` with every node that is selected in the frame: by mouse, by keyboard or in its find box. Returns what ends that. */
  onPick(tell: (picked: Picked) => void): () => void {
    const document = this.frame.contentDocument;
    let before: unknown;
    const look = (): void => {
      const [drawn] = viewOf(this.frame)?.target?.selection ?? [];
      const node = drawn?.value;
      if (node !== before && isNode(node)) tell({ outputs: outputsOf(node), name: node.name });
      before = node;
    };
    const soon = (): void => void setTimeout(look);
    for (const event of EVENTS) document?.addEventListener(event, soon, true);
    return () => {
      for (const event of EVENTS) document?.removeEventListener(event, soon, true);
    };
  }
}

/** Events after which the selection may have changed. They are captured, since Netron stops them; the selection is read afterwards. */
const EVENTS = ["click", "keyup"] as const;

/** Open a model in the frame as soon as Netron is loaded there, as if the file were dropped; resolves when it is drawn. */
export async function openInFrame(frame: HTMLIFrameElement, model: File, signal: AbortSignal): Promise<NetronFrame> {
  const focused = document.activeElement;
  await loaded(frame, signal);
  await stateIs(frame, signal, "waiting");
  const view = viewOf(frame);
  const inner = frame.contentWindow as NetronWindow | null;
  if (!view || !inner) throw new Error("Netron did not start");
  view.host.openURL = (url) => window.open(url, "_blank", "noopener");
  const files = new inner.DataTransfer();
  files.items.add(model);
  inner.document.body.dispatchEvent(new inner.DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
  await stateIs(frame, signal, "shown");
  if (document.activeElement === frame && focused instanceof HTMLElement) focused.focus();
  return new NetronFrame(frame);
}

function viewOf(frame: HTMLIFrameElement): View | undefined {
  return (frame.contentWindow as NetronWindow | null)?.__view__;
}

function outputsOf(node: NetronNode): string[] {
  return node.outputs.flatMap((output) => output.value.flatMap((value) => value?.name ?? []));
}

function isNode(value: unknown): value is NetronNode {
  return typeof value === "object" && value !== null && "outputs" in value && Array.isArray(value.outputs) && "name" in value;
}

function loaded(frame: HTMLIFrameElement, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("another model was asked for")), { once: true });
    if (frame.contentWindow && frame.contentDocument?.readyState === "complete" && frame.contentWindow.location.href !== "about:blank") resolve();
    else frame.addEventListener("load", () => resolve(), { once: true });
  });
}

type NetronState = "busy" | "waiting" | "shown" | "message";

/** Netron's state, from the classes of its body. While it is busy it may offer to cancel a long layout. */
function stateOf(body: HTMLElement): NetronState {
  const has = (name: string): boolean => body.classList.contains(name);
  if (has("alert")) return "message";
  if (has("spinner")) return "busy";
  if (has("notification") || has("message")) return "message";
  return has("default") ? "shown" : "waiting";
}

function stateIs(frame: HTMLIFrameElement, signal: AbortSignal, wanted: NetronState): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = frame.contentDocument?.body;
    if (!body) {
      reject(new Error("the frame is empty"));
      return;
    }
    const look = (): void => {
      const state = stateOf(body);
      if (state === wanted) finish(resolve);
      else if (state === "message") finish(() => reject(new Error(body.ownerDocument.getElementById("message-text")?.textContent ?? "it failed")));
      else if (state === "waiting") finish(() => reject(new Error("its layout was cancelled")));
    };
    const watcher = new MutationObserver(look);
    const timer = setTimeout(() => finish(() => reject(new Error(`it was not ready after ${PATIENCE_MS / 1000} s`))), PATIENCE_MS);
    const finish = (settle: () => void): void => {
      watcher.disconnect();
      clearTimeout(timer);
      settle();
    };
    signal.addEventListener("abort", () => finish(() => reject(new Error("another model was asked for"))), { once: true });
    watcher.observe(body, { attributes: true, attributeFilter: ["class"] });
    look();
  });
}
