// Hooks for canvases: their size, and painting in step with the screen.

import { useEffect, useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";
import { CanvasSurface } from "../pictures/surface";
import { theme, watchTheme, type Theme } from "../pictures/theme";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A reference to an element, once it exists. */
type Place<Of> = { readonly current: Of | null };

/** Returns the inner size of an element, px. */
export function useSize(element: Place<HTMLElement>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const of = element.current;
    if (!of) return;
    const measure = () => setSize((it) => (it.width === of.clientWidth && it.height === of.clientHeight ? it : { width: of.clientWidth, height: of.clientHeight }));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(of);
    return () => observer.disconnect();
  }, []);
  return size;
}

/** Paints a canvas of `size` before the next frame, whenever one of `inputs` or the theme has changed. */
export function usePaint(canvas: Place<HTMLCanvasElement>, size: Size, paint: (surface: CanvasSurface, theme: Theme) => void, inputs: readonly unknown[]): void {
  const [turned, turn] = useReducer((it: number) => it + 1, 0);
  useEffect(() => watchTheme(() => turn(0)), []);
  useLayoutEffect(() => {
    if (size.width === 0 || size.height === 0) return;
    const frame = requestAnimationFrame(() => {
      const of = canvas.current;
      const context = of && clear(of, size);
      if (context) paint(new CanvasSurface(context), theme());
    });
    return () => cancelAnimationFrame(frame);
  }, [size.width, size.height, devicePixelRatio, turned, ...inputs]);
}

/** Returns the context of an empty canvas, whose pixels are those of the screen. */
function clear(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D | null {
  const scale = devicePixelRatio;
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

/** Returns how far an element is scrolled down, px. */
export function useScroll(element: Place<HTMLElement>): number {
  const [top, setTop] = useState(0);
  useEffect(() => {
    const of = element.current;
    if (!of) return;
    const scrolled = () => setTop(of.scrollTop);
    scrolled(); // it may have been scrolled before
    of.addEventListener("scroll", scrolled, { passive: true });
    return () => of.removeEventListener("scroll", scrolled);
  }, []);
  return top;
}

const NARROW = "(max-width: 800px)"; // as in the style sheet

/** Returns whether the window is as narrow as a phone. */
export function useNarrow(): boolean {
  const query = useMemo(() => matchMedia(NARROW), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}
