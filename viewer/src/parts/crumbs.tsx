// The path from the root to the box that has the full width.

import { useApp } from "../state/context";
import { brief } from "../words/words";

const ENDS = 2; // crumbs that are shown at each end

export function Crumbs() {
  const { model, store, state } = useApp();
  const { zoom } = state.view;
  if (zoom.length === 0) return <span class="grow" />;
  const crumb = (length: number) => (
    <li key={length}>
      <button class="link" aria-current={length === zoom.length ? "true" : undefined} onClick={() => store.show({ zoom: zoom.slice(0, length) })}>
        {length === 0 ? "all" : brief(model.names.name(zoom[length - 1]!))}
      </button>
    </li>
  );
  const places = Array.from({ length: zoom.length + 1 }, (_, length) => length);
  const long = places.length > 2 * ENDS + 1;
  return (
    <nav class="crumbs grow" aria-label="Zoom">
      <ol>
        {(long ? places.slice(0, ENDS) : places).map(crumb)}
        {long && <li class="muted">… {places.length - 2 * ENDS} more</li>}
        {long && places.slice(-ENDS).map(crumb)}
      </ol>
    </nav>
  );
}
