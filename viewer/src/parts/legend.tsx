// The meaning of the colours.

import { useMemo } from "preact/hooks";
import { useApp } from "../state/context";
import type { Kind } from "../pictures/coloring";
import { ORIGINS, STATES } from "../pictures/theme";
import { brief, ORIGIN_WORDS, stateWord } from "../words/words";

/** The kinds of code in the profile, with their colours, and the choice between owners and gems. */
export function Legend() {
  const { model, coloring, store } = useApp();
  const { facts } = model;
  const found = useMemo(() => new Set<Kind>(facts.origins.map((_, of) => coloring.kind(of))), [model, coloring]);
  const isByGem = coloring.gems !== null;
  const words = { ...ORIGIN_WORDS, app: facts.tool ?? ORIGIN_WORDS.app, ...(isByGem ? { gem: "other gems", ruby: "other Ruby" } : {}) };
  const kinds: readonly (readonly [kind: Kind, text: string])[] = [
    ["app", words.app],
    ...(coloring.gems ?? []).map((it, place): [Kind, string] => [`package-${place}`, it]),
    ...ORIGINS.filter((it) => it !== "app").map((it): [Kind, string] => [it, words[it]]),
  ];
  const waits = model.profile.states.some((it) => it === "waiting" || it === "gvl" || it === "blocked" || it === "runnable");
  return (
    <>
      <button class="toggle" aria-pressed={isByGem} title="Colour functions by gem, instead of by owner" onClick={() => store.pick("colors", isByGem ? "owner" : "gem")}>
        By gem
      </button>
      <ul class="legend" aria-label="Colours">
        {kinds.filter(([kind]) => found.has(kind)).map(([kind, text]) => (
          <li key={kind}>
            <i class={`dot origin-${kind}`} />
            {brief(text)}
          </li>
        ))}
        {waits && (
          <li>
            <i class="dot hatched" />
            not running
          </li>
        )}
      </ul>
    </>
  );
}

/** The states in the profile, with their colours. */
export function StateLegend() {
  const { profile } = useApp().model;
  return (
    <ul class="legend" aria-label="States">
      {STATES.filter((it) => profile.states.includes(it)).map((it) => (
        <li key={it}>
          <i class={`dot state-${it}`} />
          {stateWord(it)}
        </li>
      ))}
      {profile.markers.length > 0 && (
        <li>
          <i class="dot marker" />
          marker
        </li>
      )}
    </ul>
  );
}
