// The bar that chooses how two sides are compared: by shares or by weights, and the other options of a view.

import type { ComponentChildren } from "preact";
import { useApp } from "./context";

export function CompareBar({ children }: { children: ComponentChildren }) {
  const { store, state } = useApp();
  const { absolute } = state.view;
  return (
    <div class="bar">
      <Segments
        label="Compare"
        choices={[
          ["Shares", !absolute, () => store.show({ absolute: false })],
          ["Weights", absolute, () => store.show({ absolute: true })],
        ]}
      />
      {children}
    </div>
  );
}

/** Buttons of which one is pressed. */
export function Segments({ label, choices }: { label: string; choices: readonly (readonly [text: string, chosen: boolean, choose: () => void, title?: string])[] }) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([text, chosen, choose, title]) => (
        <button key={text} aria-pressed={chosen} title={title} onClick={choose}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** The colours of a difference. */
export function DifferenceLegend() {
  return (
    <ul class="legend" aria-label="Colours">
      {[
        ["more", "more"],
        ["less", "less"],
        ["added", "new"],
        ["gone", "gone"],
      ].map(([kind, text]) => (
        <li key={kind}>
          <i class={`dot change-${kind}`} />
          {text}
        </li>
      ))}
    </ul>
  );
}
