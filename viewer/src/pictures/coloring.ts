// The colours of functions: by the owner of their code, or by gem.

import type { Origin } from "../model/facts";
import type { Names } from "../model/names";
import type { Theme } from "./theme";

/** The number of gems with a colour of their own. */
export const GEMS = 6;
/** The kinds of code that have a colour. */
export type Kind = Origin | `package-${number}`;

export class Coloring {
  /**
   * Colours functions. @param gems the packages that have a colour of their own; `null` colours by owner
   * @param tool the package that counts as the app, if there is one
   */
  constructor(
    private readonly names: Names,
    readonly gems: readonly string[] | null,
    private readonly tool: string | null,
  ) {}

  kind(of: number): Kind {
    if (this.names.isOwn(of) || (this.gems !== null && this.tool !== null && this.names.package(of) === this.tool)) return "app";
    const place = this.gems?.indexOf(this.names.package(of)) ?? -1;
    return place >= 0 ? `package-${place}` : this.names.origin(of);
  }

  /** Returns the colour of a box; the shade depends on its name. */
  box(theme: Theme, of: number): string {
    if (of < 0 || this.names.isLeaf(of)) return theme.kinds["synthetic"]![2]!;
    const shades = theme.kinds[this.kind(of)]!;
    return shades[this.names.mark(of) % shades.length]!;
  }
}
