// The tab of the flame graph: its shape, the path to the box that fills it, and the graph.

import { useRef } from "preact/hooks";
import { useApp } from "../state/context";
import { Crumbs } from "../parts/crumbs";
import { FlameGraph } from "../parts/flame_graph";
import { Legend } from "../parts/legend";
import type { Picture } from "../pictures/surface";
import { useExport } from "../parts/export";
import { treeText } from "../parts/texts";
import { SHAPES, SHAPE_NAMES } from "../state/view";

export function GraphTab() {
  const app = useApp();
  const { store, state } = app;
  const { shape, zoom } = state.view;
  const folds = state.view.picks["folds"] !== "off";
  const picture = useRef<Picture | null>(null);
  const direction = shape === "inverted" ? "up" : "down";
  useExport(() => treeText(app, direction, zoom), () => picture.current);
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
        <button class="toggle" aria-pressed={folds} title="Show calls that take all the time of their caller as one box, until it is clicked" onClick={() => store.pick("folds", folds ? "off" : "")}>
          Fold chains
        </button>
        <Crumbs />
        <Legend />
      </div>
      <FlameGraph
        label={`${SHAPE_NAMES[shape]} graph: arrow keys walk, Enter zooms, M opens the menu`}
        direction={direction}
        up={shape === "flame"}
        zoom={zoom}
        folds={folds && !state.selection.transforms.some((it) => it.kind === "gems")}
        onZoom={(path) => store.show({ zoom: path })}
        onPicture={(it) => void (picture.current = it)}
      />
    </>
  );
}
