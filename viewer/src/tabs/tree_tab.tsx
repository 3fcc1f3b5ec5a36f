// The call tree, expanded where more detail is wanted.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Stacks } from "../model/model";
import type { Tree } from "../model/tree";
import { useApp } from "../state/context";
import { around, nextMatch, under } from "../model/search";
import { useExport } from "../parts/export";
import { callsSomething, heaviestFirst, treeLine } from "../parts/texts";
import { Grid, type Column } from "../parts/grid";
import { WeightCell } from "../parts/table_parts";
import { brief } from "../words/words";
import { Dot } from "../parts/dot";
import { FunctionName } from "../parts/function_name";

const ROOT = 0;
const HOT = 0.5; // the share of its caller from which a callee is expanded automatically

interface Line {
  readonly node: number;
  readonly depth: number;
  /** The place among the callees of its caller, and their number. */
  readonly place: number;
  readonly of: number;
  readonly hasMore: boolean;
}

export function TreeTab() {
  const { sums, state } = useApp();
  const stacks = sums.stacks(state.selection);
  return stacks.weighed.total(0) <= 0 ? <p class="empty">Nothing is selected here.</p> : <CallTree stacks={stacks} />;
}

function CallTree({ stacks }: { stacks: Stacks }) {
  const app = useApp();
  const { model, sums, state } = app;
  const [opened, setOpened] = useState<{ tree: Tree; search: string; nodes: ReadonlySet<number> } | null>(null);
  const { search } = state.selection;
  const shown = useMemo(() => stacks.matched && around(stacks.tree, stacks.matched), [stacks.tree, stacks.matched]);
  const open = useMemo(() => (opened?.tree === stacks.tree && opened.search === search ? opened.nodes : stacks.matched ? toMatches(stacks) : hotPath(stacks)), [opened, search, stacks.tree]);
  const lines = useMemo(() => linesOf(stacks, open, shown), [stacks, open, shown]);
  const [current, setCurrent] = useState(0); // a node
  // A search leads to its first match.
  useLayoutEffect(() => setCurrent(stacks.matched ? (lines.find((it) => stacks.matched![it.node])?.node ?? ROOT) : ROOT), [search, stacks.tree]);
  const at = Math.max(0, lines.findIndex((it) => it.node === current));
  useExport(
    () => `${lines.map((it) => treeLine(app, stacks, it.node, it.depth)).join("\n")}\n`,
    () => null,
  );

  const turn = (nodes: readonly number[], wide: boolean) => {
    const next = new Set(open);
    for (const node of nodes) wide ? next.add(node) : next.delete(node);
    setOpened({ tree: stacks.tree, search, nodes: next });
  };
  const go = (line: number) => setCurrent(lines[Math.min(lines.length - 1, line)]?.node ?? 0);
  const match = (step: 1 | -1) => {
    const { tree, weighed, matched } = stacks;
    const node = nextMatch(tree.count, lines[at]?.node ?? 0, step, (it) => matched?.[it] === 1 && weighed.total(it) > 0);
    if (matched?.[node] !== 1) return;
    turn([ROOT, ...tree.path(tree.parent[node]!)], true);
    setCurrent(node);
  };
  const menu = (node: number, x: number, y: number) => {
    const stack = stacks.tree.path(node).map((it) => stacks.tree.functions[it]!);
    if (node > 0) app.openMenu({ function: stacks.tree.functions[node]!, x, y, stack, zoom: () => app.store.show({ tab: "graph", shape: "icicle", zoom: stack }) });
  };
  const key = (name: string, { node, hasMore }: Line, place: number) => {
    const isOpen = open.has(node);
    if (name === "ArrowRight") hasMore && !isOpen ? turn([node], true) : go(place + Number(hasMore));
    else if (name === "ArrowLeft") isOpen && hasMore ? turn([node], false) : node > 0 && setCurrent(stacks.tree.parent[node]!);
    else if (name === "Enter") turn([node], !isOpen);
    else if (name === "*") turn(below(stacks, node), true);
    else return false;
    return true;
  };
  const all = sums.total(state.selection);
  const type = model.type(state.selection);
  const columns: Column<Line>[] = [
    { name: "Total", kind: "cell-total", width: "min(150px, 20vw)", cell: ({ node }) => <WeightCell kind="total" type={type} weight={stacks.weighed.total(node)} all={all} /> },
    { name: "Self", kind: "cell-self", width: "min(150px, 20vw)", cell: ({ node }) => <WeightCell kind="self" type={type} weight={stacks.weighed.self(node)} all={all} /> },
    { name: "Function", kind: "cell-name", width: "minmax(0, 1fr)", cell: (line) => <NameCell line={line} of={stacks.tree.functions[line.node]!} isOpen={open.has(line.node)} /> },
  ];
  return (
    <Grid
      label="Call tree"
      role="treegrid"
      rows={lines}
      columns={columns}
      keyOf={(line) => String(line.node)}
      isLit={({ node }) => stacks.matched?.[node] === 1}
      onMatch={match}
      attributes={({ node, depth, place, of, hasMore }) => ({
        "aria-level": depth + 1,
        "aria-posinset": place,
        "aria-setsize": of,
        ...(hasMore && { "aria-expanded": open.has(node) }),
      })}
      onOpen={({ node, hasMore }) => hasMore && turn([node], !open.has(node))}
      onMenu={({ node }, x, y) => menu(node, x, y)}
      onKey={key}
      at={at}
      onAt={go}
    />
  );
}

function NameCell({ line: { node, depth, hasMore }, of, isOpen }: { line: Line; of: number; isOpen: boolean }) {
  const { names } = useApp().model;
  return (
    <div role="gridcell" class="cell-name" style={{ paddingLeft: `min(${indent(depth)}px, var(--deepest))` }}>
      <span class="twist" aria-hidden="true">
        {hasMore ? (isOpen ? "▾" : "▸") : ""}
      </span>
      {names.isLeaf(of) ? <i class="dot hatched" /> : <Dot of={of} />}
      <FunctionName name={node === 0 ? "all" : names.name(of)} />
      <span class="tree-place">{brief(names.place(of))}</span>
    </div>
  );
}

const WIDE = 14; // the levels that are clearly apart

/** Returns the space in front of a name, px. Deep calls stand closer together, so that their names stay on screen. */
const indent = (depth: number) => 6 + Math.min(depth, WIDE) * 14 + Math.max(0, depth - WIDE) * 2;

/** Returns the lines of the expanded part of the tree. @param shown by node, those around the matches of a search; `null` for all */
function linesOf(stacks: Stacks, open: ReadonlySet<number>, shown: Uint8Array | null): Line[] {
  const lines: Line[] = [];
  const next: Omit<Line, "hasMore">[] = [{ node: 0, depth: 0, place: 1, of: 1 }];
  for (let it = next.pop(); it; it = next.pop()) {
    if (!open.has(it.node)) {
      lines.push({ ...it, hasMore: callsSomething(stacks, it.node) });
      continue;
    }
    const callees = heaviestFirst(stacks, it.node).filter((node) => shown?.[node] ?? true);
    lines.push({ ...it, hasMore: callees.length > 0 });
    for (let at = callees.length - 1; at >= 0; at--) next.push({ node: callees[at]!, depth: it.depth + 1, place: at + 1, of: callees.length });
  }
  return lines;
}

/** Returns the nodes from the root on, as long as one callee has most of its caller's weight. */
function hotPath(stacks: Stacks): Set<number> {
  const path = new Set<number>();
  for (let node = 0; ; ) {
    path.add(node);
    const hottest = heaviestFirst(stacks, node)[0];
    if (hottest === undefined || stacks.weighed.total(hottest) < stacks.weighed.total(node) * HOT) return path;
    node = hottest;
  }
}

/** Returns the nodes from the root to the callers of matches that no other match calls. */
function toMatches({ tree, weighed, matched }: Stacks): Set<number> {
  const inside = under(tree, matched!);
  const path = new Set<number>([0]);
  for (let node = 1; node < tree.count; node++) {
    if (!matched![node] || inside[tree.parent[node]!] || weighed.total(node) <= 0) continue;
    for (let it = tree.parent[node]!; it > 0 && !path.has(it); it = tree.parent[it]!) path.add(it);
  }
  return path;
}

/** Returns a node and the hottest path under it. */
function below(stacks: Stacks, from: number): number[] {
  const found = [];
  for (let node: number | undefined = from; node !== undefined; node = heaviestFirst(stacks, node)[0]) found.push(node);
  return found;
}
