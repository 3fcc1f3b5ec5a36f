// The picture of a flame graph: the positions and the look of its boxes.

import type { Boxes } from "../model/flame";
import { foldText } from "../model/folds";
import type { Names } from "../model/names";
import type { Stacks } from "../model/model";
import { percent } from "../model/units";
import type { Coloring } from "./coloring";
import { beginning, fitted, widthOf } from "./lettering";
import { nextMatch } from "../model/search";
import type { Picture, Surface } from "./surface";
import { mix, theme, type Theme } from "./theme";

export const BOX = 18; // px, the height of a row of boxes
const TEXT_LEAST = 22; // px, the minimum width of a box with text
const PAD = 4; // px, before the text

/** The look of the boxes of a picture. */
export interface Look {
  color(theme: Theme, node: number): string;
  /** Returns the text after the name; empty for none. */
  remark(node: number): string;
  isHatched(node: number): boolean;
  /** Returns the text of a box with a folded chain. */
  folded?(node: number, last: number): string;
}

/** Returns the look that shows whose code each function is. */
export function ownLook(stacks: Stacks, names: Names, coloring: Coloring, tool: string | null): Look {
  const { functions } = stacks.tree;
  return {
    folded: (node, last) => foldText(stacks.tree, names, node, last, tool),
    color: (theme, node) => coloring.box(theme, functions[node]!),
    remark: () => "",
    isHatched: (node) => names.isLeaf(functions[node]!),
  };
}

/** A flame graph of a certain width. Its rows go down from the root, or up. */
export class FlamePicture implements Picture {
  readonly height: number;
  /** The boxes of each row from left to right. */
  private readonly rows: readonly Int32Array[];

  constructor(
    readonly boxes: Boxes,
    private readonly stacks: Stacks,
    private readonly names: Names,
    readonly width: number,
    private readonly up: boolean,
    private readonly look: Look,
  ) {
    this.height = Math.max(1, boxes.depths) * BOX;
    const rows: number[][] = Array.from({ length: boxes.depths }, () => []);
    for (let box = 0; box < boxes.count; box++) rows[boxes.depth[box]!]!.push(box);
    this.rows = rows.map((row) => Int32Array.from(row).sort((one, other) => boxes.left[one]! - boxes.left[other]!));
  }

  /** Returns whether a chain is folded into a box. */
  isFold(box: number): boolean {
    return this.boxes.folded[box] === 1;
  }

  foldText(box: number): string {
    return this.look.folded?.(this.boxes.node[box]!, this.boxes.last[box]!) ?? "";
  }

  /** Returns the top of a row, px. */
  topOf(depth: number): number {
    return this.up ? this.height - (depth + 1) * BOX : depth * BOX;
  }

  /** Returns the box at a point, or -1. */
  at(x: number, y: number): number {
    const depth = this.up ? Math.floor((this.height - y) / BOX) : Math.floor(y / BOX);
    const box = this.before(depth, x / this.width);
    return box >= 0 && x / this.width <= this.boxes.left[box]! + this.boxes.width[box]! ? box : -1;
  }

  /** Returns the box that a key leads to from `box`; the same one if there is no other. */
  next(box: number, key: string): number {
    const { depth, left, width } = this.boxes;
    const row = this.rows[depth[box]!]!;
    const place = row.indexOf(box);
    const inwards = this.up ? "ArrowUp" : "ArrowDown";
    if (key === "ArrowLeft") return row[place - 1] ?? box;
    if (key === "ArrowRight") return row[place + 1] ?? box;
    if (key !== inwards) return depth[box]! > 0 ? this.before(depth[box]! - 1, left[box]!) : box;
    let widest = box;
    for (const it of this.rows[depth[box]! + 1] ?? []) {
      const inside = left[it]! >= left[box]! && left[it]! < left[box]! + width[box]!;
      if (inside && (widest === box || width[it]! > width[widest]!)) widest = it;
    }
    return widest;
  }

  /** Returns the next or the previous box that matches the search, row by row; the same one if there is no other. */
  nextMatch(box: number, step: 1 | -1): number {
    const { matched } = this.stacks;
    const all = this.rows.flatMap((row) => [...row]);
    return all[nextMatch(all.length, all.indexOf(box), step, (place) => matched?.[this.boxes.node[all[place]!]!] === 1)] ?? box;
  }

  /** Paints the rows of boxes between two heights. */
  paint(surface: Surface, from = 0, to = this.height): void {
    const colors = theme();
    const searching = this.stacks.matched !== null;
    this.rows.forEach((row, depth) => {
      const top = this.topOf(depth);
      if (top + BOX <= from || top >= to) return;
      for (const box of row) this.paintBox(surface, colors, box, top - from, searching);
    });
  }

  private paintBox(surface: Surface, colors: Theme, box: number, top: number, searching: boolean): void {
    const left = this.boxes.left[box]! * this.width;
    const width = this.boxes.width[box]! * this.width;
    const node = this.boxes.node[box]!;
    const of = this.stacks.tree.functions[node]!;
    const gap = width > 3 ? 1 : width > 1.2 ? 0.4 : 0;
    const matched = searching && this.stacks.matched![node] === 1;
    const isFolded = this.isFold(box);
    let color = matched ? colors.lit : isFolded ? colors.folded : this.look.color(colors, node);
    if (searching && !matched) color = mix(color, colors.background, 0.62);
    surface.rect(left, top, Math.max(0.4, width - gap), BOX - 1, color);
    if (width > 1 && !isFolded && this.look.isHatched(node)) surface.hatch(left, top, width - gap, BOX - 1);
    if (width < TEXT_LEAST) return;
    const room = width - gap - 2 * PAD;
    const name = node === 0 ? this.rootText() : this.names.name(of);
    const text = isFolded ? beginning(this.foldText(box), room) : withRemark(name, this.look.remark(node), room);
    if (text) surface.text(left + PAD, top + BOX / 2, text, matched ? colors.background : colors.boxText);
  }

  private rootText(): string {
    const { found, weighed, matched } = this.stacks;
    return matched ? `all (${percent(found, weighed.total(0))} matches)` : "all";
  }

  /** Returns the last box of a row that begins at or before a position, 0 to 1. */
  private before(depth: number, place: number): number {
    const row = this.rows[depth];
    if (!row || row.length === 0) return -1;
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.boxes.left[row[middle]!]! > place) high = middle;
      else low = middle + 1;
    }
    return row[low - 1] ?? -1;
  }
}

/** Returns a name followed by a remark, if there is room for both. */
function withRemark(name: string, remark: string, room: number): string {
  const text = fitted(name, room);
  if (remark === "" || text === "") return text;
  const shorter = fitted(name, room - widthOf(`  ${remark}`));
  return shorter === "" || shorter.endsWith("…") ? text : `${shorter}  ${remark}`;
}
