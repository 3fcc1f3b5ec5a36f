// The call tree, expanded where more detail is wanted.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Stacks } from "../model/model";
import type { Tree } from "../model/tree";
import { useApp } from "../state/context";
import { matchStep, nextMatch } from "../words/matches";
import { useExport } from "../parts/export";
import { callsSomething, heaviestFirst, treeLine } from "../parts/texts";
import { menuPlace, nextPlace, reveal, topOf, useRows, WeightCell } from "../parts/table_parts";
import { brief } from "../words/words";
import { Dot } from "../parts/dot";

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
  const [opened, setOpened] = useState<{ tree: Tree; nodes: ReadonlySet<number> } | null>(null);
  const open = useMemo(() => (opened?.tree === stacks.tree ? opened.nodes : hotPath(stacks)), [opened, stacks.tree]);
  const lines = useMemo(() => linesOf(stacks, open), [stacks, open]);
  const [current, setCurrent] = useState(0); // a node
  const at = Math.max(0, lines.findIndex((it) => it.node === current));
  const { scroller, height, first, end } = useRows(lines.length);
  useExport(
    () => `${lines.map((it) => treeLine(app, stacks, it.node, it.depth)).join("\n")}\n`,
    () => null,
  );
  useLayoutEffect(() => reveal(scroller.current!, at), [at]);

  const turn = (nodes: readonly number[], wide: boolean) => {
    const next = new Set(open);
    for (const node of nodes) wide ? next.add(node) : next.delete(node);
    setOpened({ tree: stacks.tree, nodes: next });
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
  const keyed = (event: KeyboardEvent) => {
    const line = lines[at];
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const isOpen = open.has(line.node);
    const next = nextPlace(event.key, at, lines.length, height);
    const step = matchStep(event.key);
    if (next !== null) go(next);
    else if (step !== 0) match(step);
    else if (event.key === "ArrowRight") line.hasMore && !isOpen ? turn([line.node], true) : go(at + Number(line.hasMore));
    else if (event.key === "ArrowLeft") isOpen && line.hasMore ? turn([line.node], false) : line.node > 0 && setCurrent(stacks.tree.parent[line.node]!);
    else if (event.key === "Enter") turn([line.node], !isOpen);
    else if (event.key === "*") turn(below(stacks, line.node), true);
    else if (event.key === "m" || event.key === "ContextMenu") menu(line.node, ...menuPlace(scroller.current!, at));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const all = sums.total(state.selection);
  const type = model.type(state.selection);
  return (
    <div
      class="scroller table tree"
      ref={scroller}
      tabIndex={0}
      role="treegrid"
      aria-label="Call tree"
      aria-rowcount={lines.length + 1}
      aria-activedescendant={at >= first && at < end ? `tree-${at}` : undefined}
      onKeyDown={keyed}
    >
      <div class="table-head" role="row" aria-rowindex={1}>
        <div role="columnheader" class="cell-total">Total</div>
        <div role="columnheader" class="cell-self">Self</div>
        <div role="columnheader" class="cell-name">Function</div>
      </div>
      <div class="table-body" style={{ height: `${topOf(lines.length)}px` }} role="rowgroup">
        {lines.slice(first, end).map((line, offset) => {
          const { node, depth } = line;
          const function_ = stacks.tree.functions[node]!;
          const lit = stacks.matched?.[node] === 1;
          return (
            <div
              key={node}
              id={`tree-${first + offset}`}
              class={["table-row", lit && "lit", node === lines[at]?.node && "active"].filter(Boolean).join(" ")}
              role="row"
              aria-level={depth + 1}
              aria-posinset={line.place}
              aria-setsize={line.of}
              aria-expanded={line.hasMore ? open.has(node) : undefined}
              aria-selected={node === lines[at]?.node}
              aria-rowindex={first + offset + 2}
              style={{ transform: `translateY(${topOf(first + offset)}px)` }}
              onClick={() => (setCurrent(node), line.hasMore && turn([node], !open.has(node)))}
              onContextMenu={(event) => (event.preventDefault(), setCurrent(node), menu(node, event.clientX, event.clientY))}
            >
              <WeightCell kind="total" type={type} weight={stacks.weighed.total(node)} all={all} />
              <WeightCell kind="self" type={type} weight={stacks.weighed.self(node)} all={all} />
              <div role="gridcell" class="cell-name" style={{ paddingLeft: `${6 + Math.min(depth, 60) * 14}px` }}>
                <span class="twist" aria-hidden="true">
                  {line.hasMore ? (open.has(node) ? "▾" : "▸") : ""}
                </span>
                {model.names.isLeaf(function_) ? <i class="dot hatched" /> : <Dot of={function_} />}
                {node === 0 ? "all" : brief(model.names.name(function_))}
                <span class="tree-place">{brief(model.names.place(function_))}</span>
              </div>
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Returns the lines of the expanded part of the tree. */
function linesOf(stacks: Stacks, open: ReadonlySet<number>): Line[] {
  const lines: Line[] = [];
  const next: Omit<Line, "hasMore">[] = [{ node: 0, depth: 0, place: 1, of: 1 }];
  for (let it = next.pop(); it; it = next.pop()) {
    if (!open.has(it.node)) {
      lines.push({ ...it, hasMore: callsSomething(stacks, it.node) });
      continue;
    }
    const callees = heaviestFirst(stacks, it.node);
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

/** Returns a node and the hottest path under it. */
function below(stacks: Stacks, from: number): number[] {
  const found = [];
  for (let node: number | undefined = from; node !== undefined; node = heaviestFirst(stacks, node)[0]) found.push(node);
  return found;
}
