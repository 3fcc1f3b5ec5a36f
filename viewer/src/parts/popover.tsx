// A button that opens a small window beneath it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface PopoverProps {
  readonly label: ComponentChildren;
  readonly name: string;
  /** Whether something in it is chosen. */
  readonly active?: boolean;
  readonly kind: "menu" | "dialog";
  /** Returns the content, once it is open. */
  readonly children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, name, active = false, kind, children }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const own = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!own.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", outside);
    own.current?.querySelector<HTMLElement>(".popover input, .popover button")?.focus();
    const panel = own.current?.querySelector<HTMLElement>(".popover");
    if (panel) keepInside(panel);
    return () => removeEventListener("pointerdown", outside);
  }, [open]);
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(own.current!, event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="anchor" ref={own} onKeyDown={open ? keyed : undefined}>
      <button ref={button} class={active ? "opener on" : "opener"} aria-haspopup={kind} aria-expanded={open} title={name} onClick={() => setOpen(!open)}>
        {label}
        <span class="caret" aria-hidden="true" />
      </button>
      {open && (
        <div class="popover" role={kind} aria-label={name}>
          {children(close)}
        </div>
      )}
    </div>
  );
}

/** Moves the focus among the controls of a popover or a menu. */
export function step(within: HTMLElement, by: number): void {
  const all = [...within.querySelectorAll<HTMLElement>(".popover input, .popover button, [role=menuitem]")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + by + all.length) % all.length]?.focus();
}

/** Moves a panel to the left by as much as it is outside of the window. */
function keepInside(panel: HTMLElement): void {
  const { right, left } = panel.getBoundingClientRect();
  const outside = Math.max(0, right - document.documentElement.clientWidth + 8);
  if (outside > 0) panel.style.marginLeft = `${-Math.min(outside, left - 8)}px`;
}
