// A small window beside the pointer, with the facts on the place under it.

import { useLayoutEffect, useRef } from "preact/hooks";

export interface TipText {
  readonly title: string;
  /** A line beneath the title, in grey. */
  readonly place?: string;
  readonly rows: readonly (readonly [name: string, value: string, color?: string])[];
}

export interface TipPlace extends TipText {
  readonly x: number;
  readonly y: number;
}

const AWAY = 14; // px from the pointer

export function Tip({ tip }: { tip: TipPlace | null }) {
  const own = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const of = own.current;
    if (!of || !tip) return;
    const { width, height } = of.getBoundingClientRect();
    const left = tip.x + AWAY + width > innerWidth ? tip.x - AWAY - width : tip.x + AWAY;
    const top = tip.y + AWAY + height > innerHeight ? tip.y - AWAY - height : tip.y + AWAY;
    of.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    of.style.top = `${Math.max(4, top)}px`;
  });
  if (!tip) return null;
  return (
    <div class="tip" ref={own} role="tooltip">
      <strong>{tip.title}</strong>
      {tip.place && <span class="tip-place">{tip.place}</span>}
      <dl>
        {tip.rows.map(([name, value, color]) => (
          <div key={name}>
            <dt>
              {color && <i class="dot" style={{ background: color }} />}
              {name}
            </dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
