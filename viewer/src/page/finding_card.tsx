// A finding: a click on it selects what it is about.

import { percent } from "../model/units";
import type { Finding } from "../model/facts";
import { clean } from "../model/names";
import type { SampleType } from "../model/profile";
import { everything } from "../model/selection";
import { Breakable } from "../parts/breakable";
import { copy } from "../parts/export";
import { useApp } from "../state/context";
import { isPart, isShown, viewOf } from "../state/findings";
import { brief, typeWord } from "../words/words";
import { editorLink } from "./editor";

export function FindingCard({ finding }: { finding: Finding }) {
  const { model, sums, store, state } = useApp();
  const { profile, facts } = model;
  const found = viewOf(finding, model, sums);
  const shown = found !== null && isShown(state.selection, found.selection);
  const place = finding.path === null ? "" : `${facts.paths[finding.path] ?? finding.path}${finding.line ? `:${finding.line}` : ""}`;
  const type = profile.types.find((it) => it.name === finding.type);
  const base = finding.share === null || !type ? "" : baseOf(type, model.type(state.selection), isPart(state.selection));
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
        {base !== "" && <small>{base}</small>}
      </span>
    </>
  );
  const choose = () => {
    showPanel();
    if (shown || !found) return store.put({ selection: everything(profile), view: { ...state.view, zoom: [] } }, "");
    store.put({ selection: found.selection, view: { ...state.view, ...found.view, picks: { ...state.view.picks, ...found.view.picks } } }, "");
  };
  return (
    <li class={shown ? "card on" : found ? "card" : "card plain"}>
      {found ? (
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

/** Says of what a finding's share is, where something else is selected. */
function baseOf(type: SampleType, selected: SampleType, part: boolean): string {
  if (type === selected) return part ? "of the whole profile" : "";
  return `of ${typeWord(type)}${part ? " of the whole profile" : ""}`;
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
export function showPanel(): void {
  document.querySelector("#panel")?.scrollIntoView({ block: "nearest" });
}
