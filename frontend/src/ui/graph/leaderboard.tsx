// The leaderboard over the graph while a run goes on: what is done now and how long the answer takes still, and the time of each toolchain
// alone and of the best mix so far. A screen reader hears each row as it becomes known, and not each trial.

import type { JSX } from "preact";
import type { Leader, RunSnapshot } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { leaderName, leaderNote, leaderSeconds, leaderTime, MIX } from "../../data/run/leader_text";
import { activityText, remainingText } from "../../data/run/progress_text";
import { styleOf } from "../../state/model/catalogue";
import { nowS } from "../../state/run/clock";
import { run } from "../../state/run/run";
import { Badge } from "../widgets/badge";

export function Leaderboard(): JSX.Element | null {
  const shown = run.value;
  if (!shown || hasEnded(shown)) return null;
  const known = shown.leaders.map(leaderSeconds).filter((one) => one !== null);
  return (
    <section class="leaderboard" aria-label="Leaderboard">
      <Activity run={shown} />
      <ol aria-live="polite">
        {shown.leaders.map((row) => (
          <Row key={row.name} row={row} slowestS={Math.max(...known)} />
        ))}
      </ol>
    </section>
  );
}

function Activity({ run: shown }: { run: RunSnapshot }): JSX.Element {
  const left = remainingText(shown, nowS.value) || (shown.ends_s === null ? "" : "almost done");
  return (
    <p class="leaderboard-now">
      <span class="cut">{activityText(shown)}</span>
      <b>{left}</b>
    </p>
  );
}

function Row({ row, slowestS }: { row: Leader; slowestS: number }): JSX.Element {
  const [seconds, note] = [leaderSeconds(row), leaderNote(row)];
  const colour = row.name === MIX ? "var(--accent)" : styleOf(row.name).strong;
  return (
    <li>
      <span class="leaderboard-name">
        {row.name !== MIX && <Badge target={row.name} />} {leaderName(row)}
      </span>
      <span class="bar" aria-hidden="true">
        {seconds !== null && <span style={{ width: `${(100 * seconds) / slowestS}%`, background: colour }} />}
      </span>
      <b>{leaderTime(row)}</b>
      <span class="muted cut" title={note}>
        {note}
      </span>
    </li>
  );
}
