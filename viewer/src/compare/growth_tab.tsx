// Objects on two sides by class and by the place that allocated them, with the greatest growth first.

import { objects, TYPES, type Grouping, type Objects } from "../model/memory";
import { amount } from "../model/units";
import { Segments } from "../parts/segments";
import { useApp } from "../state/context";
import { delta, ratio } from "./difference_words";
import { Grid, TextCell, type Column } from "../parts/grid";
import { chosen, ClassCell, groupingWord, isChosen, PlaceCell } from "../parts/object_rows";
import { useExport } from "../parts/export";

const [BYTES, COUNT] = [{ name: "", unit: "bytes" }, { name: "", unit: "count" }];

/** The kinds of growth: the sample types of the bytes and of the number of objects. */
const KINDS = { live: ["inuse_space", "inuse_objects"], allocated: ["alloc_space", "alloc_objects"] } as const;
type Kind = keyof typeof KINDS;

/** The places of a row's weights: bytes and number, before and after. */
const [BYTES_BEFORE, BYTES_AFTER, COUNT_BEFORE, COUNT_AFTER] = [0, 1, 2, 3];

export function GrowthTab() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const { profile } = model;
  const typeOf = (name: (typeof TYPES)[number]) => profile.types.findIndex((it) => it.name === name);
  const kinds = (Object.keys(KINDS) as Kind[]).filter((it) => typeOf(KINDS[it][0]) >= 0);
  const kind = kinds.find((it) => it === view.picks["growthOf"]) ?? kinds[0]!;
  const groupings: readonly Grouping[] = ["both", "class", "site"];
  const by = groupings.find((it) => it === view.picks["objects"]) ?? "both";
  const { rows, totals } = sums.of(selection, `growth ${kind} ${by}`, () => {
    const columns = KINDS[kind].flatMap((name) => (["before", "after"] as const).map((side) => (typeOf(name) < 0 ? null : model.weightsOf({ ...selection, type: typeOf(name) }, side))));
    const found = objects(profile, model.owners(selection.transforms, "site"), columns, by);
    found.sort((one, other) => growth(other) - growth(one) || other.weights[BYTES_AFTER]! - one.weights[BYTES_AFTER]! || (one.key < other.key ? -1 : 1));
    return { rows: found, totals: TYPES.map((_, at) => found.reduce((sum, it) => sum + it.weights[at]!, 0)) };
  });
  const number = (name: string, text: (it: Objects) => string, wide = false): Column<Objects> => ({ name, kind: "cell-number", width: "96px", wide, cell: (it) => <TextCell kind="cell-number" text={text(it)} /> });
  const columns: Column<Objects>[] = [
    number("Before", (it) => bytes(it.weights[BYTES_BEFORE]!)),
    number("After", (it) => bytes(it.weights[BYTES_AFTER]!)),
    number("Growth", grown),
    number("", (it) => ratio(it.weights[BYTES_BEFORE]!, it.weights[BYTES_AFTER]!), true),
    number("Objects", (it) => delta(it.weights[COUNT_BEFORE]!, it.weights[COUNT_AFTER]!, true, COUNT), true),
    ...(by === "site" ? [] : [{ name: groupingWord(profile, "class"), kind: "cell-name", width: "minmax(90px, 1fr)", cell: (it: Objects) => <ClassCell of={it.class} /> }]),
    ...(by === "class" ? [] : [{ name: "Allocated in", kind: "cell-name", width: "minmax(120px, 2fr)", cell: (it: Objects) => <PlaceCell of={it.site} /> }]),
  ];
  useExport(() => `${rows.map((it) => `${grown(it).padStart(12)}   ${it.class} ${it.site < 0 ? "" : model.names.name(it.site)}`).join("\n")}\n`, () => null);
  return (
    <>
      <div class="bar">
        {kinds.length > 1 && <Segments label="Of" choices={kinds.map((it) => [it === "live" ? "Live at the end" : "Allocated", it === kind, () => store.pick("growthOf", it)])} />}
        <Segments label="By" choices={groupings.map((it) => [groupingWord(profile, it), it === by, () => store.pick("objects", it)])} />
        <span class="muted">
          {bytes(totals[BYTES_BEFORE]!)}, then {bytes(totals[BYTES_AFTER]!)}
        </span>
      </div>
      {rows.length === 0 ? (
        <p class="empty">No objects are selected here.</p>
      ) : (
        <Grid
          label="Growth"
          rows={rows}
          columns={columns}
          keyOf={(it) => it.key}
          isMarked={(it) => isChosen(app, it, by)}
          onOpen={(it) => store.put({ ...state, selection: chosen(app, it, by, typeOf(KINDS[kind][0])) }, "")}
          onMenu={(it, x, y) => it.site >= 0 && app.openMenu({ function: it.site, x, y, stack: [it.site], zoom: null })}
        />
      )}
      <p class="muted part">A row selects its class and lights up its place: Difference shows the calls that lead there. If a side has several runs, the numbers are their means.</p>
    </>
  );
}

function growth({ weights }: Objects): number {
  return weights[BYTES_AFTER]! - weights[BYTES_BEFORE]!;
}

function grown({ weights }: Objects): string {
  return delta(weights[BYTES_BEFORE]!, weights[BYTES_AFTER]!, true, BYTES);
}

function bytes(number: number): string {
  return amount(BYTES, Math.round(number));
}
