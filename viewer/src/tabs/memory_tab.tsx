// Objects by class and by the place that allocated them: those that were live at the end, with their age, and allocated ones.

import { groupings, isOfMemory, objects, traitOf, TYPES, youngest, type Grouping, type Objects } from "../model/memory";
import { clean } from "../model/names";
import { amount, percent } from "../model/units";
import { Segments } from "../parts/segments";
import { useApp, type App } from "../state/context";
import { Grid, TextCell, type Column } from "../parts/grid";
import { ResidentMemory } from "../parts/resident_memory";
import { GrowthTab } from "../compare/growth_tab";
import { chosen, ClassCell, groupingWord, isChosen, PlaceCell, without } from "../parts/object_rows";
import { WeightCell } from "../parts/table_parts";
import { useExport } from "../parts/export";
import { brief } from "../words/words";

const WIDTH = "min(136px, 24vw)";
const [LIVE_BYTES, LIVE, BYTES, ALLOCATED] = [0, 1, 2, 3];

/** The memory over time and the objects of one profile, or the growth from one to another. */
export function MemoryTab() {
  const { model } = useApp();
  if (model.isTwoSided) return <GrowthTab />;
  const hasObjects = TYPES.some((name) => model.profile.types.some((it) => it.name === name));
  return (
    <>
      <ResidentMemory />
      {hasObjects && <ObjectsTab />}
    </>
  );
}

function ObjectsTab() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const { profile } = model;
  const types = TYPES.map((name) => profile.types.findIndex((it) => it.name === name));
  const hasLive = types[LIVE]! >= 0;
  const choices = groupings(profile);
  const by = choices.find((it) => it === view.picks["objects"]) ?? "both";
  const isTrait = traitOf(by) !== null;
  const noun = isOfMemory(profile) ? "Blocks" : "Objects";
  const first = hasLive && view.picks["objectsFirst"] !== "allocated" ? LIVE_BYTES : BYTES;
  const { rows, totals } = sums.of(selection, `objects ${by} ${first}`, () => {
    const columns = types.map((type, at) => (type < 0 ? null : model.rowWeights(ofType(app, type, at, by))));
    const found = objects(profile, model.owners(selection.transforms, "site"), columns, by).filter((it) => !isTrait || it.trait !== "");
    found.sort((one, other) => (by === "age" ? youngest(one.trait) - youngest(other.trait) : other.weights[first]! - one.weights[first]! || other.weights[BYTES]! - one.weights[BYTES]! || (one.key < other.key ? -1 : 1)));
    return { rows: found, totals: types.map((_, at) => found.reduce((sum, it) => sum + it.weights[at]!, 0)) };
  });
  const [bytes, number] = [{ name: "", unit: "bytes" }, { name: "", unit: "count" }];
  const weight = (at: number, name: string, width: string): Column<Objects> => ({
    name,
    kind: "cell-total",
    width,
    cell: (it) => <WeightCell kind={at === LIVE_BYTES || at === LIVE ? "self" : "total"} type={at === LIVE_BYTES || at === BYTES ? bytes : number} weight={it.weights[at]!} all={totals[at]!} />,
  });
  const plain = (at: number, name: string): Column<Objects> => ({ name, kind: "cell-number", width: "88px", wide: true, cell: (it) => <TextCell kind="cell-number" text={amount(number, it.weights[at]!)} /> });
  const isWhole = !selection.range && !selection.within;
  const columns: Column<Objects>[] = [
    ...(hasLive ? [weight(LIVE_BYTES, "Live at the end", WIDTH), plain(LIVE, noun)] : []),
    ...(isTrait ? [] : [weight(BYTES, "Allocated", WIDTH), plain(ALLOCATED, `${noun} `)]),
    ...(hasLive && isWhole && !isTrait ? [{ name: isOfMemory(profile) ? "Freed" : "Died", kind: "cell-number", width: "70px", wide: true, cell: (it: Objects) => <TextCell kind="cell-number" text={percent(it.weights[BYTES]! - it.weights[LIVE_BYTES]!, it.weights[BYTES]!)} /> }] : []),
    ...(by === "class" || by === "both" ? [{ name: groupingWord(profile, "class"), kind: "cell-name", width: "minmax(90px, 1fr)", cell: (it: Objects) => <ClassCell of={it.class} /> }] : []),
    ...(by === "site" || by === "both" ? [{ name: "Allocated in", kind: "cell-name", width: "minmax(120px, 2fr)", cell: (it: Objects) => <PlaceCell of={it.site} /> }] : []),
    ...(isTrait ? [{ name: by === "age" ? "Garbage collections since" : "Owner", kind: "cell-name", width: "minmax(0, 1fr)", cell: (it: Objects) => <TextCell kind="cell-name" text={brief(clean(it.trait))} /> }] : []),
  ];
  useExport(() => `${rows.map((it) => `${[...it.weights].join("  ")}   ${it.class} ${it.trait} ${it.site < 0 ? "" : model.names.name(it.site)}`).join("\n")}\n`, () => null);
  const open = (it: Objects) => store.put({ ...state, selection: chosen(app, it, by, types[first]!) }, "");
  return (
    <>
      <div class="bar">
        <Segments label="By" choices={choices.map((it) => [groupingWord(profile, it), it === by, () => store.pick("objects", it)])} />
        {hasLive && !isTrait && (
          <Segments
            label="Order"
            choices={[
              ["Live first", first === LIVE_BYTES, () => store.pick("objectsFirst", "live")],
              ["Allocated first", first === BYTES, () => store.pick("objectsFirst", "allocated")],
            ]}
          />
        )}
        <span class="muted">
          {[hasLive && `${amount(bytes, totals[LIVE_BYTES]!)} live`, !isTrait && `${amount(bytes, totals[BYTES]!)} allocated`].filter(Boolean).join(", ")}
        </span>
      </div>
      {rows.length === 0 ? (
        <p class="empty">No objects are selected here.</p>
      ) : (
        <Grid
          label={noun}
          rows={rows}
          columns={columns}
          keyOf={(it) => it.key}
          isMarked={(it) => isChosen(app, it, by)}
          onOpen={open}
          onMenu={(it, x, y) => it.site >= 0 && app.openMenu({ function: it.site, x, y, stack: [it.site], zoom: null })}
        />
      )}
      <p class="muted part">{noteOf(hasLive, isWhole, isOfMemory(profile))}</p>
    </>
  );
}

function noteOf(hasLive: boolean, isWhole: boolean, isMemory: boolean): string {
  if (isMemory) return "Memory from malloc, by the library that allocated it. Record with --owners to see what refers to it.";
  if (!hasLive) return "Record with --mode heap to see which objects stay, and how old they are.";
  return isWhole ? "Bytes count only the slots of objects. profiler view BEFORE AFTER shows what has grown between two profiles." : "Allocated in the time that is selected; live at the end, whenever allocated.";
}

/**
 * Returns the selection in which rows that are not chosen remain. The profile does not record when objects that are live at the
 * end were allocated.
 */
function ofType(app: App, type: number, at: number, by: Grouping) {
  const { labels } = without(app, by);
  return { ...app.state.selection, labels, type, ...(at === LIVE_BYTES || at === LIVE ? { range: null, within: null } : {}) };
}
