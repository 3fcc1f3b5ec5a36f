// The largest changes from one side to the other: of two profiles, or of two ranges of time.

import { isSignificant, type Change } from "../model/comparison";
import { exactly } from "../model/search";
import type { Selection } from "../model/selection";
import type { SampleType } from "../model/profile";
import { amount, duration } from "../model/units";
import { Breakable } from "../parts/breakable";
import { useApp } from "../state/context";
import { delta, ratio, value } from "../compare/difference_words";
import { brief, capital } from "../words/words";

const SAME = 0.05; // a smaller change of the whole is none to act on
const MOST = 8;

/** The largest changes under a selection. @param headline the change of the whole, if it is known; its sums otherwise */
export function ChangeCards({ of, headline }: { of: Selection; headline?: string | null | undefined }) {
  const { model, sums } = useApp();
  const type = model.type(of);
  const changes = sums.changes(of, false, false);
  const isKnown = changes.some((it) => it.chance !== null);
  return (
    <>
      <h2>What changed</h2>
      <p class="headline">{capital(headline ?? totalsText(type, of, sums.comparison(of, true).totals))}.</p>
      {!isKnown && <p class="muted">The largest changes of functions' own shares. Some can be chance.</p>}
      {isKnown && !changes.some(isSignificant) && <p class="muted">No change of a function's own share is significant. Record more runs of each side to find out.</p>}
      <ul class="findings">
        {changes.slice(0, MOST).map((it) => (
          <ChangeCard key={it.function} change={it} of={of} isKnown={isKnown} />
        ))}
      </ul>
    </>
  );
}

function ChangeCard({ change, of, isKnown }: { change: Change; of: Selection; isKnown: boolean }) {
  const { model, store, state } = useApp();
  const type = model.type(of);
  const { before, after } = change;
  const name = model.names.name(change.function);
  const place = model.names.place(change.function);
  const search = exactly(name);
  const shown = state.selection.search === search;
  const choose = () => store.put({ selection: { ...of, search: shown ? "" : search }, view: { ...state.view, tab: "difference", zoom: [] } }, "");
  return (
    <li class={shown ? "card on" : "card"}>
      <button class="finding change" aria-pressed={shown} onClick={choose}>
        <b class={`share ${after > before ? "is-more" : "is-less"}`}>{delta(before, after, false, type)}</b>
        <span>
          <Breakable text={brief(name)} />
          <small>
            {value(before, false, type)} before, {value(after, false, type)} after
            {isKnown && !isSignificant(change) && ", can be chance"}
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
}

/** Describes how the weight of a run changed, or those of two ranges, which may differ in length. */
function totalsText(type: SampleType, { range, against }: Selection, { before, after }: { readonly before: number; readonly after: number }): string {
  const [one, other] = [amount(type, Math.round(before)), amount(type, Math.round(after))];
  if (range && against) {
    const [earlier, later] = range.from <= against.from ? [range, against] : [against, range];
    return `${one} in ${duration(earlier.to - earlier.from)}, then ${other} in ${duration(later.to - later.from)}`;
  }
  if (before > 0 && Math.abs(after / before - 1) < SAME) return `about the same: ${one} -> ${other}`;
  return before > 0 ? `${ratio(before, after)}: ${one} -> ${other}` : `${one} -> ${other}`;
}
