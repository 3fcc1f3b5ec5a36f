// The surfaces for pictures: a canvas, or SVG to save.

import { theme } from "./theme";

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

export interface Surface {
  rect(x: number, y: number, width: number, height: number, color: string): void;
  /** Draws slanted lines over a place that is not running code. */
  hatch(x: number, y: number, width: number, height: number): void;
  /** Draws a line of text centred at the height `y`. */
  text(x: number, y: number, text: string, color: string): void;
}

/** A picture of a certain size, which can be painted on any surface. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  paint(surface: Surface): void;
}

export class CanvasSurface implements Surface {
  private readonly lines: CanvasPattern | null;
  private color = ""; // the current fill; setting the same one again takes as long as a rectangle

  constructor(private readonly context: CanvasRenderingContext2D) {
    context.font = FONT;
    context.textBaseline = "middle";
    this.lines = hatching(context);
  }

  rect(x: number, y: number, width: number, height: number, color: string): void {
    this.fill(color);
    this.context.fillRect(x, y, width, height);
  }

  hatch(x: number, y: number, width: number, height: number): void {
    if (!this.lines) return;
    this.color = "";
    this.context.fillStyle = this.lines;
    this.context.fillRect(x, y, width, height);
  }

  text(x: number, y: number, text: string, color: string): void {
    this.fill(color);
    this.context.fillText(text, x, y);
  }

  private fill(color: string): void {
    if (color === this.color) return;
    this.color = color;
    this.context.fillStyle = color;
  }
}

const HATCH = 6; // px between two lines

function hatching(context: CanvasRenderingContext2D): CanvasPattern | null {
  const scale = Math.max(1, Math.round(devicePixelRatio));
  const tile = document.createElement("canvas");
  tile.width = tile.height = HATCH * scale;
  const lines = tile.getContext("2d")!;
  lines.scale(scale, scale);
  lines.strokeStyle = theme().hatch;
  lines.lineWidth = 1.2;
  for (const shift of [-HATCH, 0, HATCH]) {
    lines.moveTo(shift - 1, HATCH + 1);
    lines.lineTo(shift + HATCH + 1, -1);
  }
  lines.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

/** Collects SVG. All text in it is escaped. */
export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  rect(x: number, y: number, width: number, height: number, color: string): void {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${color}"/>`);
  }

  hatch(x: number, y: number, width: number, height: number): void {
    this.rect(x, y, width, height, "url(#hatch)");
  }

  text(x: number, y: number, text: string, color: string): void {
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${color}">${escaped(text)}</text>`);
  }

  document(width: number, height: number): string {
    const lines = `<path d="M-1 ${HATCH + 1}L${HATCH + 1} -1" stroke="${theme().hatch}" stroke-width="1.2"/>`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}">`,
      `<defs><pattern id="hatch" width="${HATCH}" height="${HATCH}" patternUnits="userSpaceOnUse">${lines}</pattern></defs>`,
      `<g style='font: ${FONT}' dominant-baseline="central">`,
      ...this.parts,
      "</g></svg>\n",
    ].join("\n");
  }
}

function short(number: number): string {
  return String(Math.round(number * 100) / 100);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`);
}
