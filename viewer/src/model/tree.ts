// Call trees. A node is a place in columns; a parent stands before its children, and node 0 is the root above all stacks.

const ROOT = 0;

/** Builds a tree: calls are looked up by caller and function, in a table of numbers, as there can be millions. */
export class TreeBuilder {
  private parent = new Int32Array(1024);
  private function = new Int32Array(1024);
  private table = new Int32Array(4096); // places of nodes; 0 is free, as nobody calls the root
  count = 1;

  constructor() {
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
  readonly depth: Int32Array;
  /** Children in the order of their functions' ranks; 0 where there is none. */
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  /** Whether no caller of the node is the same function: such nodes' totals add up to the function's. */
  readonly outermost: Uint8Array;

  /**
   * @param functions the function of each node, -1 for the root
   * @param rowNode the node of each row; -1 for a row that is not in the tree
   * @param rank by function, its place in the order of names
   */
  constructor(
    readonly parent: Int32Array,
    readonly functions: Int32Array,
    readonly rowNode: Int32Array,
    rank: Uint32Array,
  ) {
    this.count = parent.length;
    this.depth = new Int32Array(this.count);
    this.firstChild = new Int32Array(this.count);
    this.nextSibling = new Int32Array(this.count);
    this.outermost = new Uint8Array(this.count);
    for (let node = 1; node < this.count; node++) this.depth[node] = this.depth[parent[node]!]! + 1;
    for (const node of byRank(this.functions, rank)) {
      this.nextSibling[node] = this.firstChild[parent[node]!]!;
      this.firstChild[parent[node]!] = node;
    }
    this.findOutermost(rank.length);
  }

  weigh(rows: Float64Array): Weighed {
    const self = new Float64Array(this.count);
    const total = new Float64Array(this.count);
    for (let row = 0; row < rows.length; row++) {
      const node = this.rowNode[row]!;
      if (node >= 0) self[node]! += rows[row]!;
    }
    total.set(self);
    for (let node = this.count - 1; node > 0; node--) total[this.parent[node]!]! += total[node]!;
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

  private findOutermost(functions: number): void {
    const open = new Uint32Array(functions);
    let node = this.firstChild[ROOT]!;
    let entering = true;
    while (node > 0) {
      const of = this.functions[node]!;
      if (entering) {
        this.outermost[node] = Number(open[of] === 0);
        open[of]! += 1;
      }
      const child = entering ? this.firstChild[node]! : 0;
      if (child !== 0) {
        node = child;
        continue;
      }
      open[of]! -= 1;
      const sibling = this.nextSibling[node]!;
      entering = sibling !== 0;
      node = entering ? sibling : this.parent[node]!;
    }
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
