// The look of a differential flame graph: red is more, blue is less; stacks that are new or gone have their own colours.

import type { Comparison } from "../model/comparison";
import type { Names } from "../model/names";
import type { SampleType } from "../model/profile";
import type { Look } from "../pictures/flame_picture";
import { delta } from "./difference_words";
import { mix } from "../pictures/theme";

const LEAST = 0.0005; // of the larger side; smaller changes have no remark

export function differenceLook(comparison: Comparison, names: Names, absolute: boolean, type: SampleType): Look {
  const { before, after, totals } = comparison;
  const whole = Math.max(totals.before, totals.after);
  return {
    color(theme, node) {
      const change = comparison.change(node);
      // With few samples, a new or gone stack is as pale as any other change.
      const full = comparison.isNew(node) ? theme.added : comparison.isGone(node) ? theme.gone : change > 0 ? theme.more : theme.less;
      return mix(theme.same, full, Math.min(1, Math.sqrt(Math.abs(change)) * 1.15));
    },
    remark(node) {
      const [one, other] = [before.total(node), after.total(node)];
      if (Math.abs(other - one) < whole * LEAST) return "";
      const text = delta(one, other, absolute, type);
      return comparison.isNew(node) ? `new ${text}` : comparison.isGone(node) ? `gone ${text}` : text;
    },
    isHatched: (node) => names.isLeaf(comparison.tree.functions[node]!),
  };
}
