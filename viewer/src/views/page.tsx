// The page: the overview above, the view that was chosen, and what stands out beside it.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Model } from "../model/model";
import { ChartTab } from "./chart_tab";
import { Chips } from "./chips";
import { AppContext, type App, type MenuTarget, type Takeout } from "./context";
import { FunctionMenu } from "./function_menu";
import { GraphTab } from "./graph_tab";
import { Header } from "./header";
import { Help } from "./help";
import { onKey } from "./keys";
import { Overview } from "./overview";
import { SandwichTab } from "./sandwich_tab";
import { Sidebar } from "./sidebar";
import { Store } from "./store";
import { Sums } from "./sums";
import { TopTab } from "./top_tab";
import { TreeTab } from "./tree_tab";
import { TABS, TAB_NAMES, type Tab } from "./view";

const SAID_MS = 2500;
const VIEWS: Readonly<Record<Tab, () => ComponentChildren>> = { graph: GraphTab, chart: ChartTab, top: TopTab, tree: TreeTab, sandwich: SandwichTab };

export function Page({ model, file }: { model: Model; file: Uint8Array<ArrayBuffer> }) {
  const [, changed] = useReducer((it: number) => it + 1, 0);
  const store = useMemo(() => new Store(model), [model]);
  const sums = useMemo(() => new Sums(model), [model]);
  const takeout = useRef<Takeout | null>(null);
  const [menu, openMenu] = useState<MenuTarget | null>(null);
  const [help, setHelp] = useState(false);
  const [said, say] = useState("");
  const app: App = { model, sums, store, state: store.state, file, takeout, openMenu, say };
  useEffect(() => store.watch(() => changed(0)), [store]);
  useEffect(() => {
    const failed = (event: ErrorEvent) => say(`This page failed: ${event.message}`);
    addEventListener("error", failed);
    return () => removeEventListener("error", failed);
  }, []);
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => say(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  useEffect(() => {
    const keyed = (event: KeyboardEvent) => {
      if (!event.defaultPrevented && onKey({ ...app, state: store.state }, event, () => setHelp(true))) event.preventDefault();
    };
    addEventListener("keydown", keyed);
    return () => removeEventListener("keydown", keyed);
  }, [store]);
  return (
    <AppContext.Provider value={app}>
      <Guard>
        <Header onHelp={() => setHelp(true)} />
        <Overview />
        <Chips />
        <div class="body">
          <TabView tab={store.state.view.tab} show={(tab) => store.show({ tab })} />
          <Sidebar />
        </div>
        {menu && <FunctionMenu target={menu} close={() => openMenu(null)} />}
        {help && <Help close={() => setHelp(false)} />}
        <p class={said === "" ? "said" : "said shown"} role="status">
          {said}
        </p>
      </Guard>
    </AppContext.Provider>
  );
}

function TabView({ tab, show }: { tab: Tab; show: (tab: Tab) => void }) {
  const View = VIEWS[tab];
  const keyed = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length]!;
    show(next);
    document.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <section class="view" aria-label="View">
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={keyed}>
        {TABS.map((it, at) => (
          <button key={it} id={`tab-${it}`} role="tab" aria-selected={it === tab} aria-controls="panel" tabIndex={it === tab ? 0 : -1} title={`${TAB_NAMES[it]} (${at + 1})`} onClick={() => show(it)}>
            {TAB_NAMES[it]}
          </button>
        ))}
      </div>
      <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        <View key={tab} />
      </div>
    </section>
  );
}

/** Shows a message in place of a page that failed. */
class Guard extends Component<{ children: ComponentChildren }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static override getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render() {
    return this.state.error ? <Failure text={`This page failed: ${this.state.error.message}`} /> : this.props.children;
  }
}

/** A message in words, in place of the page. */
export function Failure({ text }: { text: string }) {
  return (
    <div class="failure" role="alert">
      <h1>The profile cannot be shown</h1>
      <p>{text}</p>
    </div>
  );
}
