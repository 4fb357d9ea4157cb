// The choice of the grouping, and the button that folds or unfolds all groups.

import type { JSX } from "preact";
import type { Grouping } from "../../graph/boxes/groups";
import { fold, groupBy, groupings, toggleAll } from "../../state/model/folding";

const NAME: Record<Grouping, string> = { nothing: "nothing", repeats: "repeated blocks", scopes: "name scope", partitions: "partition", sections: "sections" };

export function GroupMenu(): JSX.Element | null {
  const now = fold.value;
  if (!now) return null;
  const isOpen = now.tree.all.every((group) => now.open.has(group.id));
  return (
    <span class="group-by">
      <label>
        <span class="muted">Group by</span>{" "}
        <select value={now.by} title="Fold the nodes of a group into one box (g)" onChange={(event) => void groupBy(event.currentTarget.value as Grouping)}>
          {groupings.value.map(({ by, count }) => (
            <option key={by} value={by} disabled={by !== "nothing" && count === 0}>
              {by === "nothing" ? NAME[by] : `${NAME[by]} (${count === 0 ? "none" : count})`}
            </option>
          ))}
        </select>
      </label>
      {now.tree.all.length > 0 && (
        <button type="button" title={`${isOpen ? "Fold" : "Unfold"} all (O)`} onClick={() => void toggleAll()}>
          {isOpen ? "Fold all" : "Unfold all"}
        </button>
      )}
    </span>
  );
}
