// One function: its callers above, and its callees below.

import { useRef } from "preact/hooks";
import type { TopRow } from "../model/top";
import { amount, percent } from "../model/units";
import { useApp } from "../state/context";
import { FlameGraph } from "../parts/flame_graph";
import { BOX } from "../pictures/flame_picture";
import { Legend } from "../parts/legend";
import type { Picture, Surface } from "../pictures/surface";
import { useExport } from "../parts/export";
import { treeText } from "../parts/texts";
import { TopTable } from "../parts/top_table";
import { sandwichOf } from "../state/view";
import { brief } from "../words/words";

export function SandwichTab() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const rows = sums.top(state.selection, state.view.order);
  const of = useFunction(state.view.of, state.selection.type, rows);
  const pictures = useRef<{ callers: Picture | null; callees: Picture | null }>({ callers: null, callees: null });
  useExport(
    () => `${treeText(app, { callers: of }, [])}\n${treeText(app, { callees: of }, [])}`,
    () => (pictures.current.callers && pictures.current.callees ? stacked(pictures.current.callers, pictures.current.callees) : null),
  );
  const row = rows.find((it) => it.function === of);
  const all = sums.total(state.selection);
  const type = model.type(state.selection);
  return (
    <div class="sandwich">
      <TopTable current={of} narrow onOpen={(it) => store.show(sandwichOf(it), "sandwich")} />
      {of < 0 ? (
        <p class="empty">Nothing is selected here.</p>
      ) : (
        <div class="sandwich-graphs">
          <div class="bar">
            <strong class="grow clip">{brief(model.names.name(of))}</strong>
            {row && (
              <span class="muted">
                total {amount(type, row.total)} ({percent(row.total, all)}), self {amount(type, row.self)}
              </span>
            )}
            <Legend />
          </div>
          <p class="part">Callers</p>
          <FlameGraph
            key={`callers ${of}`}
            label="Callers"
            direction={{ callers: of }}
            up
            bare
            zoom={state.view.callers}
            onZoom={(path) => store.show({ of, callers: path })}
            onPicture={(it) => void (pictures.current.callers = it)}
          />
          <p class="part">Callees</p>
          <FlameGraph
            key={`callees ${of}`}
            label="Callees"
            direction={{ callees: of }}
            up={false}
            bare
            zoom={state.view.callees}
            onZoom={(path) => store.show({ of, callees: path })}
            onPicture={(it) => void (pictures.current.callees = it)}
          />
        </div>
      )}
    </div>
  );
}

/**
 * Returns the chosen function, or else the heaviest one. The latter stays while a range is being dragged, as long as it has
 * weight.
 */
function useFunction(chosen: number, type: number, rows: readonly TopRow[]): number {
  const last = useRef({ of: -1, type });
  if (chosen < 0 && (last.current.type !== type || !rows.some((it) => it.function === last.current.of))) {
    last.current = { of: rows.find((it) => it.function >= 0)?.function ?? -1, type };
  }
  return chosen >= 0 ? chosen : last.current.of;
}

/** Combines two pictures above each other into one, with the function itself once between them. */
function stacked(above: Picture, below: Picture): Picture {
  const paint = (surface: Surface) => {
    above.paint(surface);
    below.paint(shifted(surface, above.height - BOX));
  };
  return { width: Math.max(above.width, below.width), height: above.height + below.height - BOX, paint };
}

function shifted(surface: Surface, by: number): Surface {
  return {
    rect: (x, y, width, height, color) => surface.rect(x, y + by, width, height, color),
    hatch: (x, y, width, height) => surface.hatch(x, y + by, width, height),
    text: (x, y, text, color) => surface.text(x, y + by, text, color),
  };
}
