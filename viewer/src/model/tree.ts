// Call trees. A node is a place in columns; a parent stands before its children, and node 0 is the root above all stacks.

const ROOT = 0;

/** Builds a tree: calls are looked up by caller and function, in a table of numbers, as there can be millions. */
export class TreeBuilder {
  private parent: Int32Array<ArrayBuffer>;
  private function: Int32Array<ArrayBuffer>;
  private table: Int32Array<ArrayBuffer>; // places of nodes; 0 is free, as nobody calls the root
  count = 1;

  /** @param expected how many nodes there will be, more or less */
  constructor(expected = 1024) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(1024, expected)));
    this.parent = new Int32Array(size);
    this.function = new Int32Array(size);
    this.table = new Int32Array(size * 4);
    this.parent[ROOT] = -1;
    this.function[ROOT] = -1;
  }

  functionOf(node: number): number {
    return this.function[node]!;
  }

  parentOf(node: number): number {
    return this.parent[node]!;
  }

  /** The node of a function that `caller` calls. */
  call(caller: number, of: number): number {
    const mask = this.table.length - 1;
    let slot = slotOf(caller, of) & mask;
    for (let node = this.table[slot]!; node !== 0; node = this.table[slot]!) {
      if (this.parent[node] === caller && this.function[node] === of) return node;
      slot = (slot + 1) & mask;
    }
    if (this.count === this.parent.length) this.grow();
    const node = this.count++;
    this.parent[node] = caller;
    this.function[node] = of;
    this.table[slot] = node;
    if (this.count * 2 > this.table.length) this.rehash();
    return node;
  }

  tree(rowNode: Int32Array, rank: Uint32Array): Tree {
    return new Tree(this.parent.slice(0, this.count), this.function.slice(0, this.count), rowNode, rank);
  }

  private grow(): void {
    this.parent = grown(this.parent);
    this.function = grown(this.function);
  }

  private rehash(): void {
    this.table = new Int32Array(this.table.length * 2);
    const mask = this.table.length - 1;
    for (let node = 1; node < this.count; node++) {
      let slot = slotOf(this.parent[node]!, this.function[node]!) & mask;
      while (this.table[slot] !== 0) slot = (slot + 1) & mask;
      this.table[slot] = node;
    }
  }
}

function slotOf(caller: number, of: number): number {
  let hash = Math.imul(caller, 0x9e3779b1) ^ Math.imul(of + 1, 0x85ebca6b);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function grown(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const more = new Int32Array(numbers.length * 2);
  more.set(numbers);
  return more;
}

/** The self weight of each node, and its total weight with its callees. */
export interface Weighed {
  readonly self: Float64Array;
  readonly total: Float64Array;
}

export class Tree {
  readonly count: number;
  readonly parent: Int32Array;
  /** The function of each node, -1 for the root. */
  readonly functions: Int32Array;
  /** The node of each row; -1 for a row that is not in the tree. */
  readonly rowNode: Int32Array;
  readonly depth: Int32Array;
  /** Children in the order of their functions' ranks; 0 where there is none. */
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  /** Whether no caller of the node is the same function: such nodes' totals add up to the function's. */
  readonly outermost: Uint8Array;

  /**
   * Puts the nodes into the order in which one walks through them, so that what belongs together stands together: sums over
   * large trees are several times as fast.
   *
   * @param parent of each node in any order in which it stands after its parent; so do `functions` and `rowNode`
   * @param rank by function, its place in the order of names
   */
  constructor(parent: Int32Array, functions: Int32Array, rowNode: Int32Array, rank: Uint32Array) {
    this.count = parent.length;
    const [first, next] = [new Int32Array(this.count), new Int32Array(this.count)];
    for (const node of byRank(functions, rank)) {
      next[node] = first[parent[node]!]!;
      first[parent[node]!] = node;
    }
    this.parent = new Int32Array(this.count);
    this.functions = new Int32Array(this.count);
    this.depth = new Int32Array(this.count);
    this.firstChild = new Int32Array(this.count);
    this.nextSibling = new Int32Array(this.count);
    this.outermost = new Uint8Array(this.count);
    this.parent[ROOT] = this.functions[ROOT] = -1;
    const places = this.walk(first, next, parent, functions, rank.length);
    this.rowNode = rowNode.map((node) => (node < 0 ? -1 : places[node]!));
  }

  weigh(rows: Float64Array): Weighed {
    const { rowNode, parent } = this;
    const self = new Float64Array(this.count);
    for (let row = 0; row < rows.length; row++) {
      const node = rowNode[row]!;
      if (node >= 0) self[node]! += rows[row]!;
    }
    const total = self.slice();
    for (let node = this.count - 1; node > 0; node--) total[parent[node]!]! += total[node]!;
    return { self, total };
  }

  /** Calls `visit` for each child, in order. */
  children(node: number, visit: (child: number) => void): void {
    for (let child = this.firstChild[node]!; child !== 0; child = this.nextSibling[child]!) visit(child);
  }

  /** The nodes from the root's callee to `node`. */
  path(node: number): number[] {
    const path = [];
    for (let it = node; it > 0; it = this.parent[it]!) path.push(it);
    return path.reverse();
  }

  /** Fills the columns, node after node; returns the place of each. */
  private walk(first: Int32Array, next: Int32Array, parent: Int32Array, functions: Int32Array, names: number): Int32Array {
    const places = new Int32Array(this.count);
    const open = new Uint32Array(names); // by function, its nodes from the root to here
    let place = 0;
    let caller = ROOT; // in the new order
    let depth = 1;
    let node = first[ROOT]!;
    while (node > 0) {
      const of = functions[node]!;
      place += 1;
      places[node] = place;
      this.parent[place] = caller;
      this.functions[place] = of;
      this.depth[place] = depth;
      this.outermost[place] = Number(open[of] === 0);
      if (place === caller + 1) this.firstChild[caller] = place;
      const child = first[node]!;
      if (child > 0) {
        open[of]! += 1;
        caller = place;
        depth += 1;
        node = child;
        continue;
      }
      let last = place; // the node that is done, with all that it calls
      while (next[node] === 0 && node > 0) {
        node = parent[node]!;
        if (node === ROOT) break;
        last = caller;
        caller = this.parent[caller]!;
        depth -= 1;
        open[functions[node]!]! -= 1;
      }
      if (node > 0) {
        this.nextSibling[last] = place + 1;
        node = next[node]!;
      }
    }
    return places;
  }
}

/** All nodes but the root, those of the last rank first. */
function byRank(functions: Int32Array, rank: Uint32Array): Uint32Array {
  const begins = new Uint32Array(rank.length + 1);
  for (let node = 1; node < functions.length; node++) begins[rank[functions[node]!]!]! += 1;
  for (let at = rank.length - 1; at >= 0; at--) begins[at]! += begins[at + 1]!;
  const ordered = new Uint32Array(Math.max(0, functions.length - 1));
  for (let node = 1; node < functions.length; node++) ordered[--begins[rank[functions[node]!]!]!] = node;
  return ordered;
}
