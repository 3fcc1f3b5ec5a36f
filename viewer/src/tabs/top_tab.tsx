// The functions by weight.

import { useApp } from "../state/context";
import { useExport } from "../parts/export";
import { topText } from "../parts/texts";
import { sandwichOf } from "../state/view";
import { TopTable } from "../parts/top_table";

export function TopTab() {
  const app = useApp();
  useExport(() => topText(app), () => null);
  return <TopTable current={-1} onOpen={(of) => app.store.show(sandwichOf(of))} />;
}
