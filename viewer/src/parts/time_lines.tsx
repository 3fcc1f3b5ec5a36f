// Weight over time: a line for each of a few things, darker where there was more of it.

import { useRef } from "preact/hooks";
import type { Range } from "../model/selection";
import { spanOf } from "../model/time";
import { paintAxis } from "../pictures/axis";
import { useApp } from "../state/context";
import { usePaint, useSize } from "./hooks";
import { mix } from "../pictures/theme";
import { brief } from "../words/words";

const LINE = 20; // px
const AXIS = 20; // px
const CELL = 4; // px, the width of a cell

export interface TimeLinesProps {
  readonly label: string;
  readonly names: readonly string[];
  /** The state that determines the colour of the lines. */
  readonly state: string;
  /** Returns the weights of each name, in `cells` cells of the range. */
  readonly weights: (range: Range, cells: number) => ReadonlyMap<string, Float64Array>;
}

export function TimeLines({ label, names, state, weights }: TimeLinesProps) {
  const app = useApp();
  const { profile } = app.model;
  const canvas = useRef<HTMLCanvasElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const { width } = useSize(place);
  const range: Range = app.state.selection.range ?? { from: 0, to: spanOf(profile) };
  const cells = Math.max(1, Math.floor(width / CELL));
  const times = weights(range, cells);
  const size = { width, height: names.length * LINE + AXIS };
  usePaint(
    canvas,
    size,
    (surface, colors) => {
      const color = colors.states[state]!;
      let largest = 1;
      for (const own of times.values()) for (const weight of own) largest = Math.max(largest, weight);
      names.forEach((name, line) => {
        surface.rect(0, line * LINE + 2, width, LINE - 4, mix(colors.background, colors.line, 0.4));
        times.get(name)?.forEach((weight, cell) => {
          if (weight > 0) surface.rect((cell / cells) * width, line * LINE + 2, width / cells, LINE - 4, mix(colors.background, color, 0.25 + 0.75 * Math.sqrt(weight / largest)));
        });
      });
      paintAxis(surface, colors, range, width, names.length * LINE, AXIS);
    },
    [times, names.join("\n"), range.from, range.to],
  );
  if (!profile.timeline) return null;
  return (
    <div class="time-lines">
      <div>
        {names.map((it) => (
          <p key={it} class="clip" title={brief(it)}>
            {brief(it)}
          </p>
        ))}
      </div>
      <div ref={place}>
        <canvas ref={canvas} role="img" aria-label={label} />
      </div>
    </div>
  );
}
