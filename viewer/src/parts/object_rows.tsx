// The parts that the tables of objects share: the grouping of objects, their cells, and the selection of a row.

import { classLabel, isOfMemory, traitOf, TYPES, type Grouping, type Objects } from "../model/memory";
import { clean } from "../model/names";
import { exactly } from "../model/search";
import type { Profile } from "../model/profile";
import type { Selection } from "../model/selection";
import { useApp, type App } from "../state/context";
import { TextCell } from "./grid";
import { brief } from "../words/words";
import { Dot } from "./dot";

const WORDS: Readonly<Record<Grouping, string>> = { both: "Class and place", class: "Class", site: "Place", age: "Age", owner: "Owner" };
const OF_MEMORY: Readonly<Record<Grouping, string>> = { ...WORDS, both: "Library and place", class: "Library" };

/** Returns the word for a grouping of a profile's objects, or of its memory. */
export function groupingWord(profile: Profile, by: Grouping): string {
  return (isOfMemory(profile) ? OF_MEMORY : WORDS)[by];
}

export function ClassCell({ of }: { of: string }) {
  return <TextCell kind="cell-name" text={brief(clean(of)) || "(not known)"} />;
}

/** The function that allocated objects, and where it is. */
export function PlaceCell({ of }: { of: number }) {
  const { names } = useApp().model;
  const place = of < 0 ? "" : brief(names.place(of));
  return (
    <div role="gridcell" class="cell-name" title={of < 0 ? "" : `${brief(names.name(of))} ${place}`}>
      {of >= 0 && <Dot of={of} />}
      {of < 0 ? "(not known)" : brief(names.name(of))}
      <span class="tree-place">{place}</span>
    </div>
  );
}

/** Returns the parts of a row's selection: its class, age or owner, and a search for the function. */
function partsOf({ model }: App, it: Objects, by: Grouping): { label: readonly [name: string, value: string] | null; search: string | null } {
  const trait = traitOf(by);
  const label = trait !== null ? ([trait, it.trait] as const) : by === "site" ? null : ([classLabel(model.profile), it.class] as const);
  const search = by === "site" || by === "both" ? (it.site < 0 ? "" : exactly(model.names.name(it.site))) : null;
  return { label, search };
}

/** Returns whether a row is what is selected. */
export function isChosen(app: App, it: Objects, by: Grouping): boolean {
  const { selection } = app.state;
  const { label, search } = partsOf(app, it, by);
  return (label === null || selection.labels.get(label[0])?.has(label[1]) === true) && (search === null || (search !== "" && selection.search === search));
}

/** Returns the selection of a row, or without the row if that is already selected. @param type the sample type of its weight */
export function chosen(app: App, it: Objects, by: Grouping, type: number): Selection {
  if (isChosen(app, it, by)) return without(app, by);
  const { selection } = app.state;
  const { label, search } = partsOf(app, it, by);
  const isObjects = TYPES.some((name) => name === app.model.type(selection).name);
  const labels = new Map(selection.labels);
  if (label) labels.set(label[0], new Set([label[1]]));
  return { ...selection, labels, search: search ?? selection.search, type: isObjects && traitOf(by) === null ? selection.type : type };
}

/** Returns the selection without the parts that such a row selects. */
export function without(app: App, by: Grouping): Selection {
  const { selection } = app.state;
  const labels = new Map(selection.labels);
  if (by !== "site") labels.delete(traitOf(by) ?? classLabel(app.model.profile));
  return { ...selection, labels, search: by === "site" || by === "both" ? "" : selection.search };
}
