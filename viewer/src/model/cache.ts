// A cache of results, so that each is computed once.

/** A cache of values by owner and name, for the owners that were used last. */
export class Cache {
  /** The values by owner. The most recently used owner is last. */
  private readonly known = new Map<unknown, Map<string, unknown>>();

  /** @param most the number of owners, as the values of one can take many megabytes */
  constructor(private readonly most: number) {}

  of<Value>(owner: unknown, name: string, compute: () => Value): Value {
    const values = this.known.get(owner) ?? new Map<string, unknown>();
    this.known.delete(owner);
    this.known.set(owner, values);
    if (this.known.size > this.most) this.known.delete(this.known.keys().next().value);
    if (!values.has(name)) values.set(name, compute());
    return values.get(name) as Value;
  }
}
