// The two sides of the page: their files, and the weight of each.

import type { Side } from "../model/comparison";
import { clean } from "../model/names";
import { amount, percent } from "../model/units";
import { useApp } from "../state/context";
import { brief } from "../words/words";

export function Sides() {
  const { sums, state } = useApp();
  const { totals } = sums.comparison(state.selection, true);
  const largest = Math.max(totals.before, totals.after);
  return (
    <section class="sides" aria-label="Sides">
      <SideLine side="before" total={totals.before} largest={largest} />
      <SideLine side="after" total={totals.after} largest={largest} />
    </section>
  );
}

function SideLine({ side, total, largest }: { side: Side; total: number; largest: number }) {
  const { model, state } = useApp();
  const runs = model.facts.comparison!.runs.filter((it) => it.side === side);
  const names = runs.map((it) => brief(clean(it.name))).join(", ");
  return (
    <>
      <span class="side-name">{side}</span>
      <span class="clip" title={names}>
        {names}
      </span>
      <span class="side-bar">
        <i class={`of-${side}`} style={{ width: percent(total, largest) }} />
      </span>
      <span class="side-total">
        {amount(model.type(state.selection), Math.round(total))}
        {runs.length > 1 && <small> a run, of {runs.length}</small>}
      </span>
    </>
  );
}
