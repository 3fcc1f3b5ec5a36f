// The page: the overview at the top, the chosen view, and the findings beside it.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Model } from "../model/model";
import { clean } from "../model/names";
import { brief, capital, typeWord } from "../words/words";
import { ChangesTab } from "../compare/changes_tab";
import { ChartTab } from "../tabs/chart_tab";
import { Chips } from "./chips";
import { AppContext, type App, type MenuTarget, type Export } from "../state/context";
import { DifferenceTab } from "../compare/difference_tab";
import { FunctionMenu } from "../parts/function_menu";
import { GcTab } from "../tabs/gc_tab";
import { GraphTab } from "../tabs/graph_tab";
import { GvlTab } from "../tabs/gvl_tab";
import { Header } from "./header";
import { Help } from "./help";
import { onKey } from "./keys";
import { LabelsTab } from "../tabs/labels_tab";
import { MemoryTab } from "../tabs/memory_tab";
import { Overview } from "./overview";
import { SandwichTab } from "../tabs/sandwich_tab";
import { Sides } from "../compare/sides";
import { Sidebar } from "./sidebar";
import { SourceTab } from "../tabs/source_tab";
import { Coloring, GEMS } from "../pictures/coloring";
import { Store } from "../state/store";
import { Sums } from "../state/sums";
import { TopTab } from "../tabs/top_tab";
import { TreeTab } from "../tabs/tree_tab";
import { isByGem, shownTab, tabsOf, TAB_NAMES, type Tab } from "../state/view";

const SAID_MS = 2500;
const VIEWS: Readonly<Record<Tab, () => ComponentChildren>> = {
  difference: DifferenceTab,
  changes: ChangesTab,
  graph: GraphTab,
  chart: ChartTab,
  top: TopTab,
  tree: TreeTab,
  sandwich: SandwichTab,
  gvl: GvlTab,
  labels: LabelsTab,
  memory: MemoryTab,
  gc: GcTab,
  source: SourceTab,
};

export interface PageProps {
  readonly model: Model;
  readonly file: Uint8Array<ArrayBuffer>;
  /** Words of the address that do not belong to the selection. */
  readonly prefix?: string;
  /** Lets the user choose a file to compare with, where that is possible. */
  readonly compare?: () => void;
  /** The content above the page. */
  readonly above?: ComponentChildren;
}

export function Page({ model, file, prefix = "", compare, above = null }: PageProps) {
  const [, changed] = useReducer((it: number) => it + 1, 0);
  const store = useMemo(() => new Store(model, prefix), [model]);
  const sums = useMemo(() => new Sums(model), [model]);
  const exported = useRef<Export | null>(null);
  const [menu, openMenu] = useState<MenuTarget | null>(null);
  const [help, setHelp] = useState(false);
  const [said, say] = useState("");
  const gems = isByGem(model, store.state.view);
  const coloring = useMemo(() => new Coloring(model.names, gems ? sums.gems(GEMS) : null, model.facts.tool), [model, gems]);
  const app: App = { model, sums, store, state: store.state, coloring, file, exported, openMenu, say, compare: compare ?? null };
  useEffect(() => store.watch(() => changed(0)), [store]);
  useEffect(() => () => store.close(), [store]);
  const type = typeWord(model.type(store.state.selection));
  useEffect(() => void (document.title = `${capital(type)}: ${brief(clean(model.facts.title))} - profiler`), [type, model]);
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
        {above}
        <Header onHelp={() => setHelp(true)} />
        {model.isTwoSided ? <Sides /> : <Overview />}
        <Chips />
        <div class="body">
          <TabView tab={shownTab(model, store.state)} tabs={tabsOf(model, store.state.selection)} show={(tab) => store.show({ tab })} />
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

function TabView({ tab, tabs, show }: { tab: Tab; tabs: readonly Tab[]; show: (tab: Tab) => void }) {
  const View = VIEWS[tab];
  const keyed = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length]!;
    show(next);
    document.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <section class="view" aria-label="View">
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={keyed}>
        {tabs.map((it, at) => (
          <button key={it} id={`tab-${it}`} role="tab" aria-selected={it === tab} aria-controls="panel" tabIndex={it === tab ? 0 : -1} title={at < 9 ? `${TAB_NAMES[it]} (${at + 1})` : TAB_NAMES[it]} onClick={() => show(it)}>
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

/** A message in place of the page. */
export function Failure({ text }: { text: string }) {
  return (
    <div class="failure" role="alert">
      <h1>The profile cannot be shown</h1>
      <p>{text}</p>
    </div>
  );
}
