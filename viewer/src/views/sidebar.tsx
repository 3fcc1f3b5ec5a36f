// What stands out, and how the profile was taken.

import { everything } from "../model/selection";
import type { Finding } from "../model/facts";
import { clean } from "../model/names";
import { percent } from "../model/units";
import { useApp } from "./context";
import { isShown, selectionOf } from "./findings";
import { brief } from "./words";

export function Sidebar() {
  const { facts } = useApp().model;
  return (
    <aside class="sidebar" aria-label="Findings">
      <h2>What stands out</h2>
      {facts.findings.length === 0 && <p class="muted">Nothing stands out.</p>}
      <ul class="findings">
        {facts.findings.map((it) => (
          <li key={it.text}>
            <FindingButton finding={it} />
          </li>
        ))}
      </ul>
      <h2>How it was taken</h2>
      <ul class="sentences">
        {facts.header.map((it) => (
          <li key={it}>{it}</li>
        ))}
      </ul>
      <p class="muted version">profiler {facts.version}</p>
    </aside>
  );
}

function FindingButton({ finding }: { finding: Finding }) {
  const { model, sums, store, state } = useApp();
  const selection = selectionOf(finding, model, sums);
  const shown = selection !== null && isShown(state.selection, selection);
  const place = finding.path === null ? "" : `${model.facts.paths[finding.path] ?? finding.path}${finding.line ? `:${finding.line}` : ""}`;
  const inside = (
    <>
      <b class={`share kind-${finding.kind}`}>{finding.share === null ? "" : percent(finding.share, 1)}</b>
      <span>
        {brief(clean(finding.text))}
        {place !== "" && <small>{brief(clean(place))}</small>}
      </span>
    </>
  );
  if (!selection) return <div class="finding">{inside}</div>;
  const choose = () => store.put({ selection: shown ? everything(model.profile) : selection, view: { ...state.view, zoom: [] } }, "");
  return (
    <button class="finding" aria-pressed={shown} title={finding.command} onClick={choose}>
      {inside}
    </button>
  );
}
