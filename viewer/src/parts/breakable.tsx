// A text that lines can break at the parts of names and paths.

import { Fragment } from "preact";

/** Where names and paths are broken: after `::` and `/`, and before `#`. */
const PLACES = /(?<=::|\/)|(?=#)/;

export function Breakable({ text }: { text: string }) {
  return (
    <>
      {text.split(PLACES).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
