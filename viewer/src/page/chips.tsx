// The selection, as chips that can be removed, and its sum.

import { clean } from "../model/names";
import { toggled } from "../model/selection";
import { amount, count, percent } from "../model/units";
import { rangeText } from "../pictures/axis";
import { useApp } from "../state/context";
import { isComparing, shownTab } from "../state/view";
import { brief, labelWord, stateWord, threadName, transformWord, typeWord, withinWord } from "../words/words";

interface Chip {
  readonly text: string;
  readonly remove: () => void;
}

const SIMPLE: readonly (readonly [kind: "app" | "gems" | "recursion", text: string, title: string])[] = [
  ["app", "App only", "Leave out functions of gems, of Ruby and in C (a)"],
  ["gems", "Collapse gems", "Keep only the first of nested calls within gems, Ruby and C (g)"],
  ["recursion", "Collapse recursion", "Count a recursive call as its first call (r)"],
];

export function Chips() {
  const app = useApp();
  const { model, store, state } = app;
  const { selection } = state;
  const chips = useChips();
  const tab = shownTab(model, state);
  return (
    <div class="chips">
      <p class="selected" aria-live="polite">
        {isComparing(tab) ? <BothTotals /> : <Total />}
      </p>
      <ul aria-label="Selected">
        {chips.map(({ text, remove }) => (
          <li key={text} class="chip">
            <span title={text}>{text}</span>
            <button aria-label={`Remove ${text}`} onClick={remove}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <div class="segments" role="group" aria-label="Transforms">
        {SIMPLE.map(([kind, text, title]) => (
          <button key={kind} title={title} aria-pressed={selection.transforms.some((it) => it.kind === kind)} onClick={() => store.select({ transforms: toggled(selection.transforms, kind) })}>
            {text}
          </button>
        ))}
      </div>
      <div class="segments" role="group" aria-label="History">
        <button disabled={!store.canUndo} title="Undo (u)" onClick={() => store.undo()}>
          Undo
        </button>
        <button disabled={!store.canRedo} title="Redo (U)" onClick={() => store.redo()}>
          Redo
        </button>
      </div>
    </div>
  );
}

/** The sum of the selection. */
function Total() {
  const { model, sums, state } = useApp();
  const { selection } = state;
  const type = model.type(selection);
  const samples = sums.samples(selection);
  const whole = sums.whole(selection);
  const total = sums.total(selection);
  return (
    <>
      {model.isTwoSided && <span class="muted">{selection.side} </span>}
      <strong>{amount(type, total)}</strong> {typeWord(type)}
      {total < whole && <span class="muted"> of {amount(type, whole)} ({percent(total, whole)})</span>}
      {samples > 0 && type.unit === "nanoseconds" && <span class="muted">, {count(samples)} samples</span>}
    </>
  );
}

/** The sums of both sides. */
function BothTotals() {
  const { model, sums, state } = useApp();
  const type = model.type(state.selection);
  const { before, after } = sums.comparison(state.selection, true).totals;
  return (
    <>
      <strong>{amount(type, Math.round(before))}</strong> <span class="muted">before,</span> <strong>{amount(type, Math.round(after))}</strong> <span class="muted">after:</span> {typeWord(type)}
    </>
  );
}

function useChips(): Chip[] {
  const { model, store, state } = useApp();
  const { profile, facts } = model;
  const { range, against, threads, states, labels, within, idle, loading, transforms } = state.selection;
  const chips: Chip[] = [];
  if (range && against) {
    const both = [
      { text: rangeText(range), from: range.from, remove: () => store.select({ range: against, against: null }) },
      { text: rangeText(against), from: against.from, remove: () => store.select({ against: null }) },
    ].sort((one, other) => one.from - other.from);
    both.forEach(({ text, remove }, at) => chips.push({ text: `${at === 0 ? "before" : "after"}: ${text}`, remove }));
  } else if (range) chips.push({ text: rangeText(range), remove: () => store.select({ range: null }) });
  if (threads) chips.push({ text: several([...threads].map((it) => threadName(profile, it)), "threads"), remove: () => store.select({ threads: null }) });
  if (states) chips.push({ text: several([...states].map((it) => stateWord(profile.states[it]!)), "states"), remove: () => store.select({ states: null }) });
  for (const [name, values] of labels) {
    const remove = () => store.select({ labels: new Map([...labels].filter(([it]) => it !== name)) });
    chips.push({ text: `${labelWord(name)}: ${several([...values].map((it) => brief(clean(it)) || "(none)"), "values")}`, remove });
  }
  if (within) chips.push({ text: withinWord(within), remove: () => store.select({ within: null }) });
  if (loading) chips.push({ text: "loading code", remove: () => store.select({ loading: false }) });
  if (idle === "only") chips.push({ text: `only idle waits of ${count(facts.idle.threads)} ${facts.idle.threads === 1 ? "thread" : "threads"}`, remove: () => store.select({ idle: "without" }) });
  else if (idle === "with") chips.push({ text: "with idle threads", remove: () => store.select({ idle: "without" }) });
  else if (facts.idle.rows.length > 0 && model.type(state.selection).name === "wall") {
    chips.push({ text: "without idle waits", remove: () => store.select({ idle: "with" }) });
  }
  transforms.forEach((it, at) => chips.push({ text: transformWord(it, model), remove: () => store.select({ transforms: transforms.filter((_, other) => other !== at) }) }));
  return chips;
}

function several(words: readonly string[], name: string): string {
  if (words.length === 0) return `no ${name}`;
  return words.length <= 2 ? words.join(", ") : `${words.length} ${name}`;
}
