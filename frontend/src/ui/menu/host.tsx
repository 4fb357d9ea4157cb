// Parts of the page that are loaded when they are first opened: the context menu, and choosing nodes by a name pattern.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { during } from "../../base/idle";
import { menu, pattern } from "../../state/menu/menu";
import type { Menu as MenuFace } from "./menu";
import type { PatternDialog as PatternFace } from "./pattern_dialog";

const faces = signal<{ Menu: typeof MenuFace; Pattern: typeof PatternFace } | null>(null);
let isLoading = false;

async function load(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  const [{ Menu }, { PatternDialog }] = await during("menu", Promise.all([import("./menu"), import("./pattern_dialog")]));
  faces.value = { Menu, Pattern: PatternDialog };
}

export function MenuHost(): JSX.Element | null {
  const [open, asked] = [menu.value, pattern.value];
  if (!open && !asked) return null;
  if (!faces.value) {
    void load();
    return null;
  }
  const { Menu, Pattern } = faces.value;
  return (
    <>
      {open && <Menu key={`${open.label}${open.x}.${open.y}`} menu={open} />}
      {asked !== null && <Pattern from={asked} />}
    </>
  );
}
