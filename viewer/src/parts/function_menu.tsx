// The menu of a function: the actions on it and on its stacks.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { toggled, type Transform } from "../model/selection";
import { useApp, type App, type MenuTarget } from "../state/context";
import { step } from "./popover";
import { copy } from "./export";
import { stackText } from "./texts";
import { sandwichOf } from "../state/view";
import { brief } from "../words/words";

type Item = readonly [text: string, run: () => void] | null;

export function FunctionMenu({ target, close }: { target: MenuTarget; close: () => void }) {
  const app = useApp();
  const own = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const of = own.current!;
    const { width, height } = of.getBoundingClientRect();
    of.style.left = `${Math.max(4, Math.min(target.x, innerWidth - width - 8))}px`;
    of.style.top = `${Math.max(4, Math.min(target.y, innerHeight - height - 8))}px`;
    const before = document.activeElement as HTMLElement | null;
    of.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    return () => before?.focus();
  }, [target]);
  useEffect(() => {
    const outside = (event: Event) => {
      if (!own.current?.contains(event.target as Node)) close();
    };
    addEventListener("pointerdown", outside);
    addEventListener("blur", close);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("blur", close);
    };
  }, []);
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(own.current!, event.key === "ArrowDown" ? 1 : -1);
    else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="function-menu" ref={own} role="menu" aria-label={brief(app.model.names.name(target.function))} onKeyDown={keyed} onContextMenu={(event) => event.preventDefault()}>
      <p aria-hidden="true">{brief(app.model.names.name(target.function))}</p>
      {itemsOf(app, target).map((it, at) =>
        it ? (
          <button
            key={at}
            role="menuitem"
            tabIndex={-1}
            onClick={() => {
              close();
              it[1]();
            }}
          >
            {it[0]}
          </button>
        ) : (
          <hr key={at} />
        ),
      )}
    </div>
  );
}

function itemsOf(app: App, { function: of, stack, zoom }: MenuTarget): Item[] {
  const { model, store, state, say } = app;
  const { names } = model;
  const { transforms } = state.selection;
  const add = (transform: Transform) => () => store.put({ selection: { ...state.selection, transforms: [...transforms, transform] }, view: { ...state.view, zoom: [] } }, "");
  const name = names.name(of);
  const search = `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}$`;
  const copied = (text: string) => () => void copy(text).then((done) => say(done ? "Copied." : "The browser did not allow it."));
  const items: Item[] = [];
  if (zoom) items.push(["Zoom to it", zoom]);
  if (!names.isLeaf(of)) items.push(["Callers and callees", () => store.show(sandwichOf(of))]);
  const path = model.profile.functions.path[of] ?? "";
  if (path !== "" && path !== "<cfunc>") items.push(["Source by line", () => store.show({ tab: "source", picks: { ...state.view.picks, file: path, line: String(model.profile.functions.firstLine[of]) } })]);
  items.push(["Search for it", () => store.select({ search })], null);
  items.push(["Focus: only stacks with it", add({ kind: "focus", function: of })]);
  items.push(["Drop: only stacks without it", add({ kind: "drop", function: of })]);
  items.push(["Merge it into its callers", add({ kind: "merge", function: of })]);
  if (names.isLeaf(of)) items.push(["Only this state", () => store.select({ states: new Set([names.stateOf(of)]) })]);
  items.push(null);
  const simple = [
    ["app", "App only"],
    ["gems", "Collapse gems"],
    ["recursion", "Collapse recursion"],
  ] as const;
  for (const [kind, text] of simple) {
    const is = transforms.some((it) => it.kind === kind);
    items.push([is ? `${text}: undo` : text, () => store.select({ transforms: toggled(transforms, kind) })]);
  }
  items.push(null, ["Copy name", copied(name)]);
  if (stack.length > 1) items.push(["Copy stack", copied(stackText(app, stack))]);
  return items;
}
