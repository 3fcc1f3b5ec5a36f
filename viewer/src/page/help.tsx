// The list of all keys.

import { useLayoutEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [title: string, keys: readonly (readonly [keys: string, text: string])[]])[] = [
  [
    "Everywhere",
    [
      ["/", "search"],
      ["1 to 9", "the views, in the order of their tabs"],
      ["u, U", "undo, redo"],
      ["Escape", "take away the zoom, then the ranges, then the search"],
      ["n, N", "next match of the search, previous match"],
      ["t", "the next sample type"],
      ["a, g, r", "app only, collapse gems, collapse recursion"],
      ["i", "icicle, flame, inverted"],
      ["c", "copy as text"],
      ["0", "select everything"],
      ["?", "this list"],
    ],
  ],
  [
    "Range of time",
    [
      ["drag", "select a range; an edge can be dragged, with Shift all of it"],
      ["Ctrl and drag", "compare a second range with the first"],
      ["double click", "select all of the time"],
      ["← →", "move the range; with Shift its end"],
      ["+ −", "shorter, longer"],
      ["Home, End", "to the start, to the end"],
    ],
  ],
  [
    "Flame graph",
    [
      ["click, Enter", "zoom in; once more, out"],
      ["arrows", "walk from box to box"],
      ["Backspace", "zoom out by one"],
      ["right click, m", "focus, drop, merge, and more"],
    ],
  ],
  [
    "Flame chart",
    [
      ["wheel, + −", "zoom"],
      ["drag, ← →", "move"],
      ["↑ ↓, Shift ← →", "walk from call to call; PageUp, PageDown to the next thread"],
      ["double click, Enter", "zoom to a call"],
    ],
  ],
  [
    "Tables",
    [
      ["↑ ↓", "from row to row"],
      ["→ ←", "open, close (call tree)"],
      ["*", "open the hottest path (call tree)"],
      ["Enter", "callers and callees (top)"],
    ],
  ],
  [
    "GVL",
    [
      ["arrows", "walk from cell to cell"],
      ["Enter", "the stacks that waited, and those that held the GVL"],
    ],
  ],
];

export function Help({ close }: { close: () => void }) {
  const own = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => own.current!.showModal(), []);
  return (
    <dialog ref={own} class="help" aria-labelledby="help-title" onClose={close} onClick={(event) => event.target === own.current && close()}>
      <div class="help-head">
        <h2 id="help-title">Keys</h2>
        <button class="opener" onClick={close}>
          Close
        </button>
      </div>
      <div class="help-body">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, text]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
