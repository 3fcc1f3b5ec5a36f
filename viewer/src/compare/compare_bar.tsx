// The bar that chooses how two sides are compared: by shares or by weights, and the other options of a view.

import type { ComponentChildren } from "preact";
import { Segments } from "../parts/segments";
import { useApp } from "../state/context";

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
