// The meaning of the colours.

import { useMemo } from "preact/hooks";
import { useApp } from "../state/context";
import { ORIGINS, STATES } from "../pictures/theme";
import { ORIGIN_WORDS, stateWord } from "../words/words";

/** The origins of code in the profile, with their colours. */
export function Legend() {
  const { model } = useApp();
  const found = useMemo(() => new Set(model.facts.origins), [model]);
  const waits = model.profile.states.some((it) => it === "waiting" || it === "gvl" || it === "blocked" || it === "runnable");
  return (
    <ul class="legend" aria-label="Colours">
      {ORIGINS.filter((it) => found.has(it)).map((it) => (
        <li key={it}>
          <i class={`dot origin-${it}`} />
          {ORIGIN_WORDS[it]}
        </li>
      ))}
      {waits && (
        <li>
          <i class="dot hatched" />
          not running
        </li>
      )}
    </ul>
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
