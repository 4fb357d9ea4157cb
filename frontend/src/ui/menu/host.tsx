// Shows the context menu and the dialog "Decide by name"; their code is loaded when one of them is first opened.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { during } from "../../base/idle";
import { menu, pattern } from "../../state/menu/menu";
import type { Menu as MenuType } from "./menu";
import type { PatternDialog as PatternType } from "./pattern_dialog";

const loaded = signal<{ Menu: typeof MenuType; Pattern: typeof PatternType } | null>(null);
let isLoading = false;

async function load(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  const [{ Menu }, { PatternDialog }] = await during("menu", Promise.all([import("./menu"), import("./pattern_dialog")]));
  loaded.value = { Menu, Pattern: PatternDialog };
}

export function MenuHost(): JSX.Element | null {
  const [open, asked] = [menu.value, pattern.value];
  if (!open && !asked) return null;
  if (!loaded.value) {
    void load();
    return null;
  }
  const { Menu, Pattern } = loaded.value;
  return (
    <>
      {open && <Menu key={`${open.label}${open.x}.${open.y}`} menu={open} />}
      {asked !== null && <Pattern from={asked} />}
    </>
  );
}
