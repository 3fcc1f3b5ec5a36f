// The exports of the page: a text, a picture, or the profile itself.

import { useLayoutEffect } from "preact/hooks";
import { useApp } from "../state/context";
import { CanvasSurface, SvgSurface, type Picture } from "../pictures/surface";
import { theme } from "../pictures/theme";

const MARGIN = 8; // px around a picture
const MOST_PIXELS = 16_000; // for each side of a PNG

/** Offers the text and the picture of the view that is shown. */
export function useExport(text: () => string, picture: () => Picture | null): void {
  const { exported } = useApp();
  useLayoutEffect(() => {
    exported.current = { text, picture };
  });
}

/** Copies a text to the clipboard; returns false if the browser does not allow it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOfSelection(text);
  }
}

/** Copies a text the older way, which works in a frame and in a page without a secure origin. */
function copyOfSelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

export function svgOf(picture: Picture): Blob {
  const surface = new SvgSurface();
  surface.rect(0, 0, picture.width, picture.height, theme().background);
  picture.paint(surface);
  return new Blob([surface.document(picture.width, picture.height)], { type: "image/svg+xml" });
}

/** Returns the picture as PNG; `null` if the browser cannot create such a large picture. */
export function pngOf(picture: Picture): Promise<Blob | null> {
  const canvas = document.createElement("canvas");
  const [width, height] = [picture.width + 2 * MARGIN, picture.height + 2 * MARGIN];
  const scale = Math.min(2, MOST_PIXELS / Math.max(width, height));
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  if (!context) return Promise.resolve(null);
  context.scale(scale, scale);
  context.fillStyle = theme().background;
  context.fillRect(0, 0, width, height);
  context.translate(MARGIN, MARGIN);
  picture.paint(new CanvasSurface(context));
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Makes the browser save a file. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Returns the name of a file, derived from the title of the page. */
export function fileName(title: string, extension: string): string {
  const base = title.replace(/\.pb\.gz$/, "").replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return `${base === "" ? "profile" : base.slice(0, 80)}.${extension}`;
}
