// The tab of the flame graph: its shape, the path to the box that fills it, and the graph.

import { useRef } from "preact/hooks";
import { useApp } from "./context";
import { FlameGraph } from "./flame_graph";
import { Legend } from "./legend";
import type { Picture } from "./surface";
import { useTakeout } from "./takeout";
import { treeText } from "./texts";
import { SHAPES, type Shape } from "./view";
import { brief } from "./words";

export const SHAPE_NAMES: Readonly<Record<Shape, string>> = { icicle: "Icicle", flame: "Flame", inverted: "Inverted" };

export function GraphTab() {
  const app = useApp();
  const { store, state } = app;
  const { shape, zoom } = state.view;
  const picture = useRef<Picture | null>(null);
  const direction = shape === "inverted" ? "up" : "down";
  useTakeout(() => treeText(app, direction, zoom), () => picture.current);
  return (
    <>
      <div class="bar">
        <div class="segments" role="group" aria-label="Shape">
          {SHAPES.map((it) => (
            <button key={it} aria-pressed={it === shape} onClick={() => store.show({ shape: it, zoom: [] })}>
              {SHAPE_NAMES[it]}
            </button>
          ))}
        </div>
        <Crumbs />
        <Legend />
      </div>
      <FlameGraph
        label={`${SHAPE_NAMES[shape]} graph: arrow keys walk, Enter zooms, M opens the menu`}
        direction={direction}
        up={shape === "flame"}
        zoom={zoom}
        onZoom={(path) => store.show({ zoom: path })}
        onPicture={(it) => void (picture.current = it)}
      />
    </>
  );
}

const ENDS = 2; // crumbs that are shown at each end

/** The path from the root to the box that has the full width. */
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
