// The functions with most of the selection, where findings are about something else.

import { percent } from "../model/units";
import { Breakable } from "../parts/breakable";
import { useApp } from "../state/context";
import { isPart, pathOf, searchFor } from "../state/findings";
import { brief, typeWord } from "../words/words";
import { showPanel } from "./finding_card";

const MOST = 3;

export function Hottest() {
  const { model, sums, store, state } = useApp();
  const { selection } = state;
  const { names } = model;
  const total = sums.total(selection);
  const rows = sums.hottest(selection).slice(0, MOST);
  return (
    <>
      <h2>Most in {isPart(selection) ? "the selection" : typeWord(model.type(selection))}</h2>
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
