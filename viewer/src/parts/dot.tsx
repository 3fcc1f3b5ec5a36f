// A dot in the colour of a function.

import { useApp } from "../state/context";

export function Dot({ of }: { of: number }) {
  return <i class={`dot origin-${useApp().coloring.kind(of)}`} />;
}
