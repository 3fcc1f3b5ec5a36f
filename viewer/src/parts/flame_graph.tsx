// A flame graph that can be explored with the pointer and with keys.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Direction, Stacks } from "../model/model";
import type { SampleType } from "../model/profile";
import type { Tree } from "../model/tree";
import { chainOf } from "../model/folds";
import { useApp } from "../state/context";
import { brief } from "../words/words";
import { BOX, FlamePicture, ownLook, type Look } from "../pictures/flame_picture";
import { nodeTip, partTip } from "./frame_facts";
import { usePaint, useScroll, useSize } from "./hooks";
import { matchStep } from "../model/search";
import type { Picture } from "../pictures/surface";
import { Tip, type TipPlace, type TipText } from "./tip";

const NONE: ReadonlySet<number> = new Set();
const LEAST = 0.4; // px, the width of the narrowest box that is drawn

/** Stacks other than those of the selection, with a look and a text for each box. */
export interface Graph {
  readonly stacks: Stacks;
  readonly look: Look;
  readonly tip: (node: number) => TipText;
}

export interface FlameProps {
  readonly label: string;
  readonly direction: Direction;
  /** Whether the root is at the bottom. */
  readonly up: boolean;
  /** The functions from the root to the box that has the full width. */
  readonly zoom: readonly number[];
  readonly onZoom: (path: readonly number[]) => void;
  /** Whether to omit the top box, so that the single function under it has the full width. */
  readonly bare?: boolean;
  readonly graph?: Graph;
  /** Whether chains that say little are folded until they are opened. */
  readonly folds?: boolean;
  readonly onPicture: (picture: Picture) => void;
  /** The stacks to show instead of those of the selection. */
  readonly part?: { readonly stacks: Stacks; readonly type: SampleType };
}

export function FlameGraph({ label, direction, up, zoom, onZoom, bare = false, folds = false, graph, onPicture, part }: FlameProps) {
  const app = useApp();
  const { model, sums, state, openMenu } = app;
  const stacks = part?.stacks ?? graph?.stacks ?? sums.stacks(state.selection, direction);
  const { tree } = stacks;
  const root = nodeOf(tree, zoom) || (bare ? tree.firstChild[0]! : 0);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useSize(scroller);
  const top = useScroll(scroller);
  const [tip, setTip] = useState<TipPlace | null>(null);
  const [current, setCurrent] = useState(-1); // the node of the box from which keys move
  const [hovered, setHovered] = useState(-1); // a box

  const [unfolded, setUnfolded] = useState<{ tree: Tree; nodes: ReadonlySet<number> } | null>(null);
  const opened = !folds ? null : unfolded?.tree === tree ? unfolded.nodes : NONE;
  const picture = useMemo(() => {
    const boxes = model.boxes(stacks, root, LEAST / Math.max(1, view.width), opened);
    return new FlamePicture(boxes, stacks, model.names, view.width, up, graph?.look ?? ownLook(stacks, model.names, app.coloring, model.facts.tool));
  }, [app.coloring, stacks, graph?.look, root, view.width, up, opened]);
  useLayoutEffect(() => onPicture(picture), [picture]);
  useLayoutEffect(() => void (folds || setUnfolded(null)), [folds]);
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = up ? scroller.current.scrollHeight : 0;
    setHovered(-1);
    setTip(null);
  }, [up, root, up ? picture.height : 0, up ? view.height : 0]);
  // A flame that is lower than its area stands at the bottom of it.
  const lift = up ? Math.max(0, view.height - picture.height) : 0;
  usePaint(canvas, view, (surface) => picture.paint(surface, top - lift, top - lift + view.height), [picture, top, lift]);

  const tipOfNode = graph?.tip ?? ((node: number) => (part ? partTip(app, stacks, part.type, node) : nodeTip(app, stacks, direction, node)));
  const tipOf = (box: number): TipText => {
    const tip = tipOfNode(picture.boxes.node[box]!);
    if (!picture.isFold(box)) return tip;
    const inside = chainOf(tree, picture.boxes.node[box]!, picture.boxes.last[box]!).map((it) => brief(model.names.name(tree.functions[it]!)));
    return { title: picture.foldText(box), place: inside.length > 1 ? `${inside[0]} … ${inside.at(-1)}` : inside[0]!, rows: [...tip.rows.slice(0, 1), ["click", "opens it"]] };
  };
  const boxAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return picture.at(event.clientX - box.left, event.clientY - box.top + top - lift);
  };
  const pathOf = (node: number) => tree.path(node).map((it) => tree.functions[it]!);
  const zoomTo = (node: number) => onZoom(pathOf(node === root && node > 0 ? tree.parent[node]! : node));
  /** Opens a folded chain, or zooms to a box. */
  const open = (box: number) => {
    const node = picture.boxes.node[box]!;
    if (picture.isFold(box)) setUnfolded({ tree, nodes: new Set([...(opened ?? []), ...chainOf(tree, node, picture.boxes.last[box]!)]) });
    else zoomTo(node);
  };
  const menu = (box: number, x: number, y: number) => {
    const node = picture.boxes.node[box]!;
    if (node > 0) openMenu({ function: tree.functions[node]!, x, y, stack: stackOf(pathOf(node), direction), zoom: () => onZoom(pathOf(node)) });
  };
  const move = (event: PointerEvent) => {
    const box = boxAt(event);
    setHovered(box);
    setTip(box < 0 ? null : { ...tipOf(box), x: event.clientX, y: event.clientY });
  };
  const walk = useWalk(picture, current, setCurrent, scroller, lift);
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = matchStep(event.key);
    if (event.key.startsWith("Arrow")) walk.go(walk.box < 0 ? 0 : picture.next(walk.box, event.key));
    else if (step !== 0) walk.go(picture.nextMatch(walk.box, step));
    else if (event.key === "Enter" && walk.box >= 0) open(walk.box);
    else if (event.key === "Backspace" && zoom.length > 0) onZoom(zoom.slice(0, -1));
    else if ((event.key === "m" || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) && walk.box >= 0) {
      const place = canvas.current!.getBoundingClientRect();
      menu(walk.box, place.left + picture.boxes.left[walk.box]! * view.width + 8, place.top + picture.topOf(picture.boxes.depth[walk.box]!) - top + lift + BOX);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const known = walk.box < 0 ? null : tipOf(walk.box);
  const empty = stacks.weighed.total(root) <= 0;
  return (
    <div class="scroller flame" ref={scroller} tabIndex={0} role="application" aria-roledescription="flame graph" aria-label={label} onKeyDown={keyed}>
      <div class="spacer" style={{ height: `${empty ? 0 : picture.height}px` }}>
        <canvas
          ref={canvas}
          aria-hidden="true"
          onPointerMove={move}
          onPointerLeave={() => (setHovered(-1), setTip(null))}
          onClick={(event) => {
            const box = boxAt(event);
            if (box >= 0) open(box);
          }}
          onContextMenu={(event) => {
            const box = boxAt(event);
            if (box >= 0 && picture.boxes.node[box]! > 0) (event.preventDefault(), setTip(null), menu(box, event.clientX, event.clientY));
          }}
        />
      </div>
      {empty && <p class="empty">Nothing is selected here.</p>}
      <Outline picture={picture} box={hovered} lift={lift} kind="hovered" />
      <Outline picture={picture} box={walk.box} lift={lift} kind="current" />
      <p class="hidden" aria-live="polite">
        {known && `${known.title}, ${known.rows.map(([name, value]) => `${name} ${value}`).join(", ")}`}
      </p>
      <Tip tip={tip} />
    </div>
  );
}

/** Returns the node that a path of functions leads to; 0 if the tree has no such path. */
export function nodeOf(tree: Tree, path: readonly number[]): number {
  let node = 0;
  for (const of of path) {
    let next = tree.firstChild[node]!;
    while (next !== 0 && tree.functions[next] !== of) next = tree.nextSibling[next]!;
    if (next === 0) return 0;
    node = next;
  }
  return node;
}

/** Returns a path of a tree as a stack, root first. */
function stackOf(path: number[], direction: Direction): number[] {
  return direction === "up" || (typeof direction === "object" && "callers" in direction) ? path.reverse() : path;
}

/** Returns the box that keys lead to. */
function useWalk(picture: FlamePicture, current: number, setCurrent: (node: number) => void, scroller: { current: HTMLElement | null }, lift: number): { box: number; go: (box: number) => void } {
  const box = useMemo(() => picture.boxes.node.indexOf(current), [picture, current]);
  const go = (next: number) => {
    setCurrent(picture.boxes.node[next] ?? -1);
    const of = scroller.current!;
    const y = picture.topOf(picture.boxes.depth[next] ?? 0) + lift;
    if (y < of.scrollTop) of.scrollTop = y;
    else if (y + BOX > of.scrollTop + of.clientHeight) of.scrollTop = y + BOX - of.clientHeight;
  };
  return { box, go };
}

/** A frame around a box. */
function Outline({ picture, box, lift, kind }: { picture: FlamePicture; box: number; lift: number; kind: string }) {
  if (box < 0 || box >= picture.boxes.count) return null;
  const style = {
    left: `${picture.boxes.left[box]! * picture.width}px`,
    top: `${picture.topOf(picture.boxes.depth[box]!) + lift}px`,
    width: `${Math.max(2, picture.boxes.width[box]! * picture.width)}px`,
    height: `${BOX}px`,
  };
  return <div class={`outline ${kind}`} style={style} />;
}
