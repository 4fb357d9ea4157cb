// The note of a report: that it is one, when it was written, and what it can't do; with the machine and the versions behind it.

import type { JSX } from "preact";
import { config } from "../../data/config";
import type { ReportInfo } from "../../data/protocol";
import { Badge } from "../widgets/badge";
import { Popover } from "../widgets/popover";

export function ReportNote(): JSX.Element | null {
  const { report } = config;
  if (!report) return null;
  return (
    <span class="report-note">
      <span class="tag">report</span> <span class="muted">{`of ${report.written.slice(0, 10)}, read only`}</span>{" "}
      <Popover content="Machine and versions" label="About this report" class="plain">
        {() => <About report={report} />}
      </Popover>
    </span>
  );
}

function About({ report }: { report: ReportInfo }): JSX.Element {
  return (
    <div class="report-about">
      <p>This file holds the page and all of its data. It asks no server; to run, pin, export or measure, open the run with <code>collage explore</code>.</p>
      <dl class="facts">
        <Fact name="run">{report.run}</Fact>
        <Fact name="written">{report.written.replace("T", " ").replace("Z", " UTC")}</Fact>
        <Fact name="costs from">{report.machine || "no measurement"}</Fact>
        {Object.entries(report.versions).map(([target, version]) => (
          <div key={target}>
            <dt>
              <Badge target={target} /> {target}
            </dt>
            <dd>{version}</dd>
          </div>
        ))}
        <Fact name="Collage Explorer">{config.version}</Fact>
      </dl>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
