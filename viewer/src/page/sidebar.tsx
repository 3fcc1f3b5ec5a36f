// The findings, and how the profile was recorded.

import { useMemo } from "preact/hooks";
import { isSignificant } from "../model/comparison";
import { everything } from "../model/selection";
import type { Finding } from "../model/facts";
import { clean } from "../model/names";
import { exactly } from "../model/search";
import { percent } from "../model/units";
import { useApp } from "../state/context";
import { delta, value } from "../compare/difference_words";
import { isShown, selectionOf } from "../state/findings";
import { brief } from "../words/words";

// The sidebar is focusable, because keys should scroll it even if it contains no button.
export function Sidebar() {
  const { model } = useApp();
  const { facts } = model;
  return model.isTwoSided ? <ChangesSidebar /> : (
    <aside class="sidebar" aria-label="Findings" tabIndex={0}>
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

const MOST_CHANGES = 8;

/** The significant changes, and how both sides were recorded. */
function ChangesSidebar() {
  const { model, sums, store, state } = useApp();
  const { comparison, version } = model.facts;
  const whole = useMemo(() => ({ ...everything(model.profile), type: state.selection.type }), [model, state.selection.type]);
  const type = model.type(whole);
  const changes = sums.changes(whole, false, false);
  const isKnown = changes.some((it) => it.chance !== null);
  const found = changes.filter((it) => !isKnown || isSignificant(it)).slice(0, MOST_CHANGES);
  return (
    <aside class="sidebar changed" aria-label="Findings" tabIndex={0}>
      <h2>What changed</h2>
      {!isKnown && <p class="muted">The largest changes of functions' own shares. Some can be chance.</p>}
      {found.length === 0 && <p class="muted">No change of a function's own share is significant. More runs of each side would tell.</p>}
      <ul class="findings">
        {found.map((it) => {
          const name = model.names.name(it.function);
          const search = exactly(name);
          const shown = state.selection.search === search;
          const place = model.names.place(it.function);
          return (
            <li key={it.function}>
              <button class="finding" aria-pressed={shown} onClick={() => store.put({ selection: { ...whole, search: shown ? "" : search }, view: { ...state.view, tab: "difference", zoom: [] } }, "")}>
                <b class={`share ${it.after > it.before ? "is-more" : "is-less"}`}>{delta(it.before, it.after, false, type)}</b>
                <span>
                  {brief(name)}
                  <small>
                    {value(it.before, false, type)} before, {value(it.after, false, type)} after
                  </small>
                  {place !== "" && <small>{brief(place)}</small>}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {comparison!.runs.map((run, at) => (
        <section key={at}>
          <h2>
            {run.side === "before" ? "Before" : "After"}: {brief(clean(run.name))}
          </h2>
          <ul class="sentences">
            {run.header.map((it) => (
              <li key={it}>{it}</li>
            ))}
          </ul>
        </section>
      ))}
      <p class="muted version">profiler {version}</p>
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
