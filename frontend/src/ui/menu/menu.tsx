// The context menu. Keys: arrows, Home, End or a letter move, Enter chooses, → opens the items of an item, ← and Escape go back.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { closeMenu, type MenuItem, type OpenMenu } from "../../state/menu/menu";
import { Badge } from "../widgets/badge";

const MARGIN_PX = 6;

export function Menu({ menu }: { menu: OpenMenu }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const outside = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) closeMenu();
    };
    document.addEventListener("pointerdown", outside, true);
    window.addEventListener("resize", closeMenu);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      window.removeEventListener("resize", closeMenu);
    };
  }, []);
  return (
    <div ref={root} class="menu-root" onContextMenu={(event) => event.preventDefault()}>
      <List label={menu.label} items={menu.items} anchor={{ left: menu.x, right: menu.x, top: menu.y }} isTitled back={closeMenu} />
    </div>
  );
}

interface Anchor {
  /** A list opens to the right of `right` where there is space, else to the left of `left`. */
  left: number;
  right: number;
  top: number;
}

interface ListProps {
  label: string;
  items: readonly MenuItem[];
  anchor: Anchor;
  isTitled?: boolean;
  back: () => void;
}

function List({ label, items, anchor: anchor, isTitled = false, back }: ListProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const open = useSignal<number | null>(null);
  useLayoutEffect(() => {
    if (!element.current) return;
    settle(element.current, anchor);
    buttons(element.current)[0]?.focus({ preventScroll: true });
  }, []);
  const key = (event: KeyboardEvent & { currentTarget: HTMLElement }): void => {
    event.stopPropagation();
    if (event.key === "Tab") return closeMenu();
    const all = buttons(event.currentTarget);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = moved(event.key, at, all);
    if (next !== undefined) all[next]?.focus();
    else if (event.key === "ArrowRight" && items[at]?.items) open.value = at;
    else if (event.key === "Escape" || (event.key === "ArrowLeft" && !isTitled)) back();
    else return;
    event.preventDefault();
  };
  return (
    <div ref={element} class="menu" role="menu" aria-label={label} onKeyDown={key}>
      {isTitled && (
        <div class="menu-title" aria-hidden="true">
          {label}
        </div>
      )}
      {items.map((item, i) => (
        <Item key={item.label} item={item} isOpen={open.value === i} open={() => (open.value = i)} pointed={() => (open.value = item.items ? i : null)} shut={() => (open.value = null)} />
      ))}
    </div>
  );
}

interface ItemProps {
  item: MenuItem;
  isOpen: boolean;
  open: () => void;
  /** Called when the pointer enters the item. */
  pointed: () => void;
  shut: () => void;
}

function Item({ item, isOpen, open, pointed, shut }: ItemProps): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const choose = (): void => {
    if (item.items) return open();
    closeMenu();
    item.run?.();
  };
  const back = (): void => {
    shut();
    button.current?.focus();
  };
  const rect = isOpen ? button.current?.getBoundingClientRect() : undefined;
  return (
    <>
      {item.hasSeparator && <div role="separator" />}
      <button ref={button} type="button" role="menuitem" tabIndex={-1} aria-keyshortcuts={item.key} aria-haspopup={item.items ? "menu" : undefined} aria-expanded={item.items ? isOpen : undefined} onClick={choose} onPointerEnter={pointed}>
        {item.target !== undefined && <Badge target={item.target} />}
        <span class="menu-label">{item.label}</span>
        {item.note !== undefined && <span class="muted">{item.note}</span>}
        {item.key !== undefined && <kbd aria-hidden="true">{item.key}</kbd>}
        {item.items && <span aria-hidden="true">▸</span>}
      </button>
      {rect && item.items && <List label={item.label} items={item.items} anchor={{ left: rect.left, right: rect.right, top: rect.top - 5 }} back={back} />}
    </>
  );
}

/** The items of a list, without those of a list that is open inside it. */
function buttons(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(":scope > [role=menuitem]")];
}

/** The index of the item to which a key leads from the item at `at`; undefined where it leads nowhere. */
function moved(key: string, at: number, all: readonly HTMLElement[]): number | undefined {
  const count = all.length;
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at - 1 + count) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (key.length !== 1 || key === " ") return undefined;
  const order = all.map((_, i) => (at + 1 + i) % count);
  return order.find((i) => all[i]?.querySelector(".menu-label")?.textContent?.toLowerCase().startsWith(key.toLowerCase()));
}

/** Move a list to where all of it is visible. */
function settle(list: HTMLElement, { left, right, top }: Anchor): void {
  const { width, height } = list.getBoundingClientRect();
  const isRoom = right + width + MARGIN_PX <= window.innerWidth;
  list.style.left = `${Math.max(MARGIN_PX, isRoom ? right : left - width)}px`;
  list.style.top = `${Math.max(MARGIN_PX, Math.min(top, window.innerHeight - height - MARGIN_PX))}px`;
}
