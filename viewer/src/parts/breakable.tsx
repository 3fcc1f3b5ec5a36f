// Names and paths that are broken where one reads on: after `::` and `/`, and before `#`.

import { Fragment } from "preact";

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
