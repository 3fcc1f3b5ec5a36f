// Texts that fit: the width of a text, and the part of it for which there is room.

import { FONT } from "./surface";

const MOST_KEPT = 20_000;
const widths = new Map<string, number>();
let context: CanvasRenderingContext2D | null = null;

/** Returns the width of a text in the font of pictures, px. */
export function widthOf(text: string): number {
  const known = widths.get(text);
  if (known !== undefined) return known;
  if (!context) {
    context = document.createElement("canvas").getContext("2d")!;
    context.font = FONT;
  }
  if (widths.size > MOST_KEPT) widths.clear();
  const width = context.measureText(text.slice(0, 400)).width;
  widths.set(text, width);
  return width;
}

/**
 * Fits the name of a function into `room` px: without its modules if that helps, or else only its beginning; empty if too
 * narrow.
 */
export function fitted(name: string, room: number): string {
  if (room < 14) return "";
  if (name.length <= 400 && widthOf(name) <= room) return name;
  const bare = withoutModules(name);
  return widthOf(bare) <= room && bare.length <= 400 ? bare : beginning(bare, room);
}

/** Returns the beginning of a text, with an ellipsis if it is cut. */
export function beginning(text: string, room: number): string {
  const kept = text.slice(0, 400);
  if (kept.length === text.length && widthOf(text) <= room) return text;
  let length = Math.floor((kept.length * room) / Math.max(1, widthOf(kept)));
  while (length > 1 && widthOf(`${kept.slice(0, length)}…`) > room) length -= 1;
  return length > 1 ? `${kept.slice(0, length)}…` : "";
}

function withoutModules(name: string): string {
  const end = name.lastIndexOf("::");
  return /^[\w:]+::\w+[#.]/.test(name) ? name.slice(end + 2) : name;
}
