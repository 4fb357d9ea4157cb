// The menu "Save as" with the formats in which something on the page can be saved. One format is a button, several are a small menu.

import type { JSX } from "preact";
import { Popover } from "./popover";

export interface Format {
  name: "SVG" | "PNG" | "DOT" | "CSV" | "HTML";
  says: string;
  save: () => void;
}

export function SaveMenu({ what, formats }: { what: string; formats: readonly Format[] }): JSX.Element | null {
  const [only] = formats;
  if (!only) return null;
  if (formats.length === 1) {
    return (
      <button type="button" title={only.says} onClick={only.save}>
        Save as {only.name}
      </button>
    );
  }
  return (
    <Popover content={<>Save as <span aria-hidden="true">▾</span></>} label={`Save ${what}`}>
      {(close) => (
        <ul class="formats">
          {formats.map(({ name, says, save }) => (
            <li key={name}>
              <button type="button" class="row" onClick={() => (close(), save())}>
                <b>{name}</b> <span class="muted">{says}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}
