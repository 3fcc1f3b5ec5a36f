// The findings, and how the profile was recorded.

import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { isSignificant } from "../model/comparison";
import { everything } from "../model/selection";
import type { Finding } from "../model/facts";
import { clean } from "../model/names";
import { exactly } from "../model/search";
import type { SampleType } from "../model/profile";
import { amount, percent } from "../model/units";
import { useApp } from "../state/context";
import { delta, ratio, value } from "../compare/difference_words";
import { boxOf, isPart, isShown, pathOf, searchFor, selectionOf } from "../state/findings";
import { copy } from "../parts/export";
import { brief, capital, typeWord } from "../words/words";
import { editorLink } from "./editor";

const TRUST = "trust"; // the kind of findings on how far numbers can be trusted

// The sidebar is focusable, because keys should scroll it even if it contains no button.
export function Sidebar() {
  const { model, state } = useApp();
  const { facts } = model;
  // How far numbers can be trusted is not a finding of its own. What ranks above all findings is what to read first.
  const findings = facts.findings.filter((it) => it.kind !== TRUST);
  const leading = findings.length === 0 ? facts.findings.length : facts.findings.indexOf(findings[0]!);
  const [first, notes] = [facts.findings.slice(0, leading), facts.findings.slice(leading).filter((it) => it.kind === TRUST)];
  return model.isTwoSided ? <ChangesSidebar /> : (
    <aside class="sidebar" aria-label="Findings" tabIndex={0}>
      <section class="stands-out">
        <Hottest />
        <h2>What stands out{isPart(state.selection) && " in the whole profile"}</h2>
        {findings.length === 0 && <p class="muted">Nothing stands out.</p>}
        <Notes notes={first} />
        <Base findings={findings} />
        <ul class="findings">
          {findings.map((it) => (
            <FindingCard key={it.text} finding={it} />
          ))}
        </ul>
      </section>
      <section class="taken">
        <h2>How it was taken</h2>
        <Notes notes={notes} />
        <ul class="sentences">
          {facts.header.map((it) => (
            <li key={it}>{clean(it)}</li>
          ))}
        </ul>
        <p class="muted version">profiler {facts.version}</p>
      </section>
    </aside>
  );
}

/** How far numbers can be trusted. */
function Notes({ notes }: { notes: readonly Finding[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="sentences notes">
      {notes.map((it) => (
        <li key={it.text}><Breakable text={capital(brief(clean(it.text)))} />.</li>
      ))}
    </ul>
  );
}

/** Says what the shares are of: they leave out some of the wall clock time. */
function Base({ findings }: { findings: readonly Finding[] }) {
  const { types } = useApp().model.profile;
  const isLeftOut = findings.some((it) => it.kind === "loading" && it.share === null);
  const first = findings.find((it) => it.share !== null && it.share > 0);
  const type = types.find((it) => it.name === first?.type);
  if (!first || !type || (!isLeftOut && type.name !== "wall")) return null;
  const isDelayLeftOut = findings.some((it) => it.text.includes("left out of the percentages"));
  const without = [...(isLeftOut ? ["loading"] : []), ...(type.name === "wall" ? ["idle waits"] : []), ...(isDelayLeftOut ? ["waits for a CPU"] : [])];
  return (
    <p class="muted base">
      Shares are of the {amount(type, Math.round(first.weight / first.share!))} of {typeWord(type.name)} without {without.join(", ").replace(/, ([^,]*)$/, " and $1")}.
    </p>
  );
}

const SAME = 0.05; // a smaller change of the whole is none to act on
const MOST_CHANGES = 8;

/** The significant changes, and how both sides were recorded. */
function ChangesSidebar() {
  const { model, sums, store, state } = useApp();
  const { comparison, version } = model.facts;
  const whole = useMemo(() => ({ ...everything(model.profile), type: state.selection.type }), [model, state.selection.type]);
  const type = model.type(whole);
  const changes = sums.changes(whole, false, false);
  const isKnown = changes.some((it) => it.chance !== null);
  const found = changes.slice(0, MOST_CHANGES);
  const significant = changes.filter(isSignificant).length;
  const headline = comparison!.changes.find((it) => it.type === type.name && !it.total && !it.absolute)?.headline ?? totalsText(type, sums.comparison(whole, true).totals);
  return (
    <aside class="sidebar changed" aria-label="Findings" tabIndex={0}>
      <h2>What changed</h2>
      <p class="headline">{capital(brief(clean(headline)))}.</p>
      {!isKnown && <p class="muted">The largest changes of functions' own shares. Some can be chance.</p>}
      {isKnown && significant === 0 && <p class="muted">No change of a function's own share is significant. Record more runs of each side to find out.</p>}
      <ul class="findings">
        {found.map((it) => {
          const name = model.names.name(it.function);
          const search = exactly(name);
          const shown = state.selection.search === search;
          const place = model.names.place(it.function);
          return (
            <li key={it.function} class={shown ? "card on" : "card"}>
              <button class="finding" aria-pressed={shown} onClick={() => store.put({ selection: { ...whole, search: shown ? "" : search }, view: { ...state.view, tab: "difference", zoom: [] } }, "")}>
                <b class={`share ${it.after > it.before ? "is-more" : "is-less"}`}>{delta(it.before, it.after, false, type)}</b>
                <span>
                  <Breakable text={brief(name)} />
                  <small>
                    {value(it.before, false, type)} before, {value(it.after, false, type)} after
                    {isKnown && !isSignificant(it) && ", can be chance"}
                  </small>
                  {place !== "" && (
                    <small>
                      <Breakable text={brief(place)} />
                    </small>
                  )}
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
              <li key={it}>{clean(it)}</li>
            ))}
          </ul>
        </section>
      ))}
      <p class="muted version">profiler {version}</p>
    </aside>
  );
}

/** Describes how the weight of a run changed. */
function totalsText(type: SampleType, { before, after }: { readonly before: number; readonly after: number }): string {
  const [one, other] = [amount(type, Math.round(before)), amount(type, Math.round(after))];
  if (before > 0 && Math.abs(after / before - 1) < SAME) return `about the same: ${one} -> ${other}`;
  return before > 0 ? `${ratio(before, after)}: ${one} -> ${other}` : `${one} -> ${other}`;
}

function FindingCard({ finding }: { finding: Finding }) {
  const { model, sums, store, state } = useApp();
  const selection = selectionOf(finding, model, sums);
  const shown = selection !== null && isShown(state.selection, selection);
  const place = finding.path === null ? "" : `${model.facts.paths[finding.path] ?? finding.path}${finding.line ? `:${finding.line}` : ""}`;
  const inside = (
    <>
      <b class={`share kind-${finding.kind}`}>{finding.share === null ? "" : percent(finding.share, 1)}</b>
      <span>
        <Breakable text={brief(clean(finding.text))} />
        {place !== "" && (
          <small>
            <Breakable text={brief(clean(place))} />
          </small>
        )}
        {isPart(state.selection) && finding.share !== null && <small>of the whole profile</small>}
      </span>
    </>
  );
  const choose = () => {
    showPanel();
    if (shown || !selection) return store.put({ selection: everything(model.profile), view: { ...state.view, zoom: [] } }, "");
    store.put({ selection, view: { ...state.view, tab: "graph", shape: "icicle", zoom: boxOf(finding, selection, sums) } }, "");
  };
  return (
    <li class={shown ? "card on" : "card"}>
      {selection ? (
        <button class="finding" aria-pressed={shown} onClick={choose}>
          {inside}
        </button>
      ) : (
        <div class="finding">{inside}</div>
      )}
      <FindingActions finding={finding} />
    </li>
  );
}

/** Copies the command that shows more, and opens the line in the editor where one is known. */
function FindingActions({ finding }: { finding: Finding }) {
  const { model, say } = useApp();
  const command = finding.command.replace("FILE", ownFile());
  const editor = editorLink(model.facts.editor, finding.path, finding.line);
  return (
    <p class="actions">
      <button class="link" title={clean(command)} aria-label={`Copy command: ${clean(finding.text)}`} onClick={() => void copy(command).then((done) => say(done ? "Copied the command." : "The browser did not allow it."))}>
        Copy command
      </button>
      {editor && (
        <a href={editor} aria-label={`Open in editor: ${clean(finding.text)}`}>
          Open in editor
        </a>
      )}
    </p>
  );
}

/** Returns the file of this page, quoted for a shell, if it is a file: the command line reads pages, too. A page of many profiles has no command. */
function ownFile(): string {
  if (location.protocol !== "file:" || document.querySelector("#profile-1")) return "FILE";
  const path = decodeURIComponent(location.pathname);
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** Scrolls to the view, which is below the findings on a small screen. */
function showPanel(): void {
  document.querySelector("#panel")?.scrollIntoView({ block: "nearest" });
}

const MOST_HOTTEST = 3;

/** The functions with most of the selection, if that is a part of the profile: findings are those of the whole. */
function Hottest() {
  const { model, sums, store, state } = useApp();
  const { selection } = state;
  if (!isPart(selection)) return null;
  const { names } = model;
  const total = sums.total(selection);
  const rows = sums.hottest(selection).slice(0, MOST_HOTTEST);
  return (
    <>
      <h2>Most in the selection</h2>
      {rows.length === 0 && <p class="muted">Nothing was measured in it.</p>}
      <ul class="findings">
        {rows.map(({ function: of, weight }) => {
          const search = searchFor(of, model);
          const isChosen = selection.search === search;
          const choose = () => {
            showPanel();
            const next = { ...selection, search: isChosen ? "" : search };
            store.put({ selection: next, view: { ...state.view, tab: "graph", shape: "icicle", zoom: isChosen ? [] : pathOf(of, next, sums) } }, "");
          };
          return (
            <li key={of} class={isChosen ? "card on" : "card"}>
              <button class="finding in-selection" aria-pressed={isChosen} onClick={choose}>
                <b class="share">{percent(weight, total)}</b>
                <span>
                  <Breakable text={brief(names.name(of))} />
                  {names.place(of) !== "" && (
                    <small>
                      <Breakable text={brief(names.place(of))} />
                    </small>
                  )}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** Where names and paths are broken: after `::` and `/`, and before `#`. */
const PLACES = /(?<=::|\/)|(?=#)/;

function Breakable({ text }: { text: string }) {
  return (
    <>
      {text.split(PLACES).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
