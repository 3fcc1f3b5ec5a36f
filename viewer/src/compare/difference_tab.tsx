// The tab of the differential flame graph.

import { useMemo, useRef } from "preact/hooks";
import { weightUnder } from "../model/search";
import { CompareBar, DifferenceLegend } from "./compare_bar";
import { Segments } from "../parts/segments";
import { useApp } from "../state/context";
import { differenceLook } from "./difference_look";
import { differenceTip } from "./difference_words";
import { FlameGraph, type Graph } from "../parts/flame_graph";
import { Crumbs } from "../parts/crumbs";
import type { Picture } from "../pictures/surface";
import { useExport } from "../parts/export";
import { differenceText } from "./difference_texts";
import { SHAPES, SHAPE_NAMES, WIDTHS } from "../state/view";

const WIDTH_TITLES = { both: "Boxes are as wide as both sides together", before: "Boxes are as wide as before: new ones are not seen", after: "Boxes are as wide as after: gone ones are not seen" };

export function DifferenceTab() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const { shape, zoom, absolute, widths } = view;
  const picture = useRef<Picture | null>(null);
  const direction = shape === "inverted" ? "up" : "down";
  const shares = sums.comparison(selection, false, direction);
  const weights = sums.comparison(selection, true, direction);
  const shown = absolute ? weights : shares;
  const graph = useMemo((): Graph => {
    const { tree } = shown;
    const functions = sums.matches(selection);
    const matched = functions && Uint8Array.from({ length: tree.count }, (_, node) => (node === 0 ? 0 : functions[tree.functions[node]!]!));
    return {
      stacks: { tree, weighed: shown[widths], matched, found: matched ? weightUnder(shown[widths], matched) : 0 },
      look: differenceLook(shown, model.names, absolute, model.type(selection)),
      tip: (node) => differenceTip(app, shares, weights, node),
    };
  }, [shown, widths, selection]);
  useExport(() => differenceText(app, shown, absolute, zoom), () => picture.current);
  return (
    <>
      <CompareBar>
        <Segments label="Widths" choices={WIDTHS.map((it) => [it === "both" ? "Both" : it === "before" ? "Before" : "After", it === widths, () => store.show({ widths: it }), WIDTH_TITLES[it]])} />
        <Segments label="Shape" choices={SHAPES.map((it) => [SHAPE_NAMES[it], it === shape, () => store.show({ shape: it, zoom: [] })])} />
        <Crumbs />
        <DifferenceLegend />
      </CompareBar>
      <FlameGraph
        label="Difference: arrow keys walk, Enter zooms, M opens the menu"
        direction={direction}
        up={shape === "flame"}
        zoom={zoom}
        onZoom={(path) => store.show({ zoom: path })}
        graph={graph}
        onPicture={(it) => void (picture.current = it)}
      />
    </>
  );
}
