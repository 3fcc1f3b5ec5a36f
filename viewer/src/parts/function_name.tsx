// The name of a function in a cell that may be too narrow for it: there, it goes without its modules.

import { brief } from "../words/words";

/** The modules in front of a name: `YARD::Templates::` of `YARD::Templates::Section#new`. */
const MODULES = /^(?:\w+::)+(?=\w+[#.])/;

export function FunctionName({ name }: { name: string }) {
  const text = brief(name);
  const modules = MODULES.exec(text)?.[0] ?? "";
  return (
    <span class="function-name">
      {modules !== "" && <span class="modules">{modules}</span>}
      <span>{text.slice(modules.length)}</span>
    </span>
  );
}
