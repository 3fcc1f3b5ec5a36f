// The functions by weight.

import { useApp } from "./context";
import { useTakeout } from "./takeout";
import { topText } from "./texts";
import { TopTable } from "./top_table";

export function TopTab() {
  const app = useApp();
  useTakeout(() => topText(app), () => null);
  return <TopTable current={-1} onOpen={(of) => app.store.show({ tab: "sandwich", of })} />;
}
