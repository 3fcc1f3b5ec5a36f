// Layers over time, one above the other: what they weigh in each span.

import { useRef, useState } from "preact/hooks";
import type { Layers } from "../model/over_time";
import { GEMS } from "../pictures/coloring";
import { widthOf } from "../pictures/lettering";
import type { Surface } from "../pictures/surface";
import { theme, type Theme } from "../pictures/theme";
import { brief } from "../words/words";
import { usePaint, useSize } from "./hooks";
import { Tip, type TipPlace } from "./tip";

const HEIGHT = 120; // px
const AXIS = 20; // px
const LABEL = 96; // px in front of the layers, as in the map of a process
const TICK = 110; // px from one time to the next

interface StackedAreaProps {
  readonly label: string;
  readonly layers: Layers;
  /** The spans in their order, ms since 1970. */
  readonly spans: readonly { readonly from: number; readonly to: number }[];
  /** Returns the height of a weight in a span. */
  readonly height: (span: number, weight: number) => number;
  /** Returns the words for a height. */
  readonly text: (height: number) => string;
  /** Formats a time on the axis. @param step the time from one to the next, ms */
  readonly time: (ms: number, step: number) => string;
  readonly title: (span: number) => string;
  readonly open?: (span: number) => void;
}

const colorOf = (colors: Theme, layer: number) => colors.kinds[layer < GEMS ? `package-${layer}` : "synthetic"]![0]!;

export function StackedArea({ label, layers, spans, height, text, time, title, open }: StackedAreaProps) {
  const own = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(own);
  const [tip, setTip] = useState<TipPlace | null>(null);
  const { names, weights, totals } = layers;
  const range = { from: spans[0]!.from, to: spans.at(-1)!.to };
  const largest = totals.reduce((one, total, at) => Math.max(one, height(at, total)), 0);
  const left = (ms: number) => LABEL + ((ms - range.from) / Math.max(1, range.to - range.from)) * (width - LABEL);
  usePaint(canvas, { width, height: HEIGHT + AXIS }, (surface, colors) => paint(surface, colors), [layers, width]);

  function paint(surface: Surface, colors: Theme): void {
    const top = text(largest);
    surface.text(LABEL - 8 - widthOf(top), 8, top, colors.muted);
    surface.rect(LABEL, HEIGHT, width - LABEL, 1, colors.line);
    spans.forEach((span, at) => {
      let y = HEIGHT;
      weights.forEach((of, layer) => {
        const high = largest > 0 ? (height(at, of[at]!) / largest) * HEIGHT : 0;
        y -= high;
        if (high > 0) surface.rect(left(span.from), y, Math.max(1, left(span.to) - left(span.from)), high, colorOf(colors, layer));
      });
    });
    const ticks = Math.max(1, Math.floor((width - LABEL) / TICK));
    const step = (range.to - range.from) / ticks;
    for (let tick = 0; tick < ticks; tick++) {
      const at = range.from + tick * step;
      surface.text(left(at), HEIGHT + AXIS / 2, time(at, step), colors.muted);
    }
  }

  const placeAt = (event: MouseEvent) => {
    const at = range.from + ((event.clientX - canvas.current!.getBoundingClientRect().left - LABEL) / (width - LABEL)) * (range.to - range.from);
    return spans.findIndex((it) => it.from <= at && at < it.to);
  };
  const moved = (event: PointerEvent) => {
    const at = placeAt(event);
    if (at < 0) return setTip(null);
    const rows = names.map((name, layer): [string, string, string] => [brief(name), text(height(at, weights[layer]![at]!)), colorOf(theme(), layer)]).filter((_, layer) => weights[layer]![at]! > 0);
    setTip({ title: title(at), rows: [["in all", text(height(at, totals[at]!))], ...rows], x: event.clientX, y: event.clientY });
  };
  return (
    <div ref={own} class="days-map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${label}: at most ${text(largest)}`}
        onPointerMove={moved}
        onPointerLeave={() => setTip(null)}
        onClick={(event) => {
          const at = placeAt(event);
          if (at >= 0) open?.(at);
        }}
      />
      <ul class="legend" aria-label="Layers">
        {names.map((it, layer) => (
          <li key={it}>
            <i class={`dot origin-${layer < GEMS ? `package-${layer}` : "synthetic"}`} />
            {brief(it)}
          </li>
        ))}
      </ul>
      <Tip tip={tip} />
    </div>
  );
}
