// Call trees. A node is a place in columns. A parent comes before its children, and node 0 is the root above all stacks.

const ROOT = 0;

/**
 * Builds a tree. The first callee of a node is stored with it; the others are in a table of numbers, as there can be millions.
 */
export class TreeBuilder {
  private parent: Int32Array<ArrayBuffer>;
  private function: Int32Array<ArrayBuffer>;
  private first: Int32Array<ArrayBuffer>; // the first callee of each node; 0 is none, as nothing calls the root
  private table = new Int32Array(4096); // the places of nodes; 0 is free
  private inTable = 0;
  count = 1;

  /** Creates an empty tree. @param expected the approximate number of nodes */
  constructor(expected = 1024) {
    const size = Math.max(1024, Math.ceil(expected));
    this.parent = new Int32Array(size);
    this.function = new Int32Array(size);
    this.first = new Int32Array(size);
    this.parent[ROOT] = -1;
    this.function[ROOT] = -1;
  }

  functionOf(node: number): number {
    return this.function[node]!;
  }

  parentOf(node: number): number {
    return this.parent[node]!;
  }

  /** Returns the node of a function called by `caller`. */
  call(caller: number, of: number): number {
    const first = this.first[caller]!;
    if (first === 0) {
      const node = this.add(caller, of);
      this.first[caller] = node;
      return node;
    }
    return this.function[first] === of ? first : this.further(caller, of);
  }

  tree(rowNode: Int32Array, rank: Uint32Array): Tree {
    return new Tree(this.parent.slice(0, this.count), this.function.slice(0, this.count), rowNode, rank);
  }

  /** Returns the node of a callee other than the first one. */
  private further(caller: number, of: number): number {
    const mask = this.table.length - 1;
    let slot = slotOf(caller, of) & mask;
    for (let node = this.table[slot]!; node !== 0; node = this.table[slot]!) {
      if (this.parent[node] === caller && this.function[node] === of) return node;
      slot = (slot + 1) & mask;
    }
    const node = this.add(caller, of);
    this.table[slot] = node;
    this.inTable += 1;
    if (this.inTable * 2 > this.table.length) this.rehash();
    return node;
  }

  private add(caller: number, of: number): number {
    if (this.count === this.parent.length) {
      this.parent = grown(this.parent);
      this.function = grown(this.function);
      this.first = grown(this.first);
    }
    const node = this.count++;
    this.parent[node] = caller;
    this.function[node] = of;
    return node;
  }

  private rehash(): void {
    const old = this.table;
    this.table = new Int32Array(old.length * 2);
    const mask = this.table.length - 1;
    for (const node of old) {
      if (node === 0) continue;
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

/** The weights of the nodes of a tree, each computed on demand: a tree has many more nodes than rows. */
export class Weighed {
  /**
   * Creates the weights. @param before by row in the tree's order, the weight of all rows before it; the last entry is the
   * total
   */
  constructor(
    readonly tree: Tree,
    private readonly before: Float64Array,
  ) {}

  /** Returns the weight of a row by its place in the tree's order. */
  row(place: number): number {
    return this.before[place + 1]! - this.before[place]!;
  }

  /** Returns the weight of the stacks that end in a node. */
  self(node: number): number {
    return this.before[this.tree.begin[node + 1]!]! - this.before[this.tree.begin[node]!]!;
  }

  /** Returns the weight of the stacks that end in a node or in its callees. */
  total(node: number): number {
    return this.before[this.tree.end[node]!]! - this.before[this.tree.begin[node]!]!;
  }
}

export class Tree {
  readonly count: number;
  readonly parent: Int32Array;
  /** The function of each node; -1 for the root. */
  readonly functions: Int32Array;
  /** The node of each row; -1 for a row that is not in the tree. */
  readonly rowNode: Int32Array;
  readonly depth: Int32Array;
  /** The children in the order of their functions' ranks; 0 if there are none. */
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  /** Whether no caller of the node is the same function: the totals of such nodes add up to the function's. */
  readonly outermost: Uint8Array;
  /**
   * The start and the end of each node's rows, including those of its callees, which come after its own; `begin` has one more
   * entry.
   */
  readonly begin: Uint32Array;
  readonly end: Uint32Array;
  /** The rows that are in the tree, in the order of their nodes. */
  readonly rows: Uint32Array;

  /**
   * Sorts the nodes in the order in which they are walked, so that related nodes are adjacent: sums over large trees are
   * several times as fast.
   *
   * @param parent of each node, in any order in which a node comes after its parent; `functions` and `rowNode` have the same
   * order
   * @param rank by function, its place in the order of names
   */
  constructor(parent: Int32Array, functions: Int32Array, rowNode: Int32Array, rank: Uint32Array) {
    this.count = parent.length;
    const [first, next] = linked(parent, functions, rank);
    this.parent = new Int32Array(this.count);
    this.functions = new Int32Array(this.count);
    this.depth = new Int32Array(this.count);
    this.firstChild = new Int32Array(this.count);
    this.nextSibling = new Int32Array(this.count);
    this.outermost = new Uint8Array(this.count);
    this.parent[ROOT] = this.functions[ROOT] = -1;
    const places = this.walk(first, next, parent, functions, rank.length);
    this.rowNode = rowNode.map((node) => (node < 0 ? -1 : places[node]!));
    this.begin = new Uint32Array(this.count + 1);
    this.end = new Uint32Array(this.count);
    this.rows = this.inOrder();
  }

  /** Returns the tree with its weights. @param weights by row */
  weigh(weights: Float64Array): Weighed {
    const { rows } = this;
    const before = new Float64Array(rows.length + 1);
    for (let place = 0, sum = 0; place < rows.length; place++) before[place + 1] = sum += weights[rows[place]!]!;
    return new Weighed(this, before);
  }

  /** Returns the nodes from the root's callee to `node`. */
  path(node: number): number[] {
    const path = [];
    for (let it = node; it > 0; it = this.parent[it]!) path.push(it);
    return path.reverse();
  }

  /** Returns the rows in the order of their nodes, and fills the columns with the places of each node's rows. */
  private inOrder(): Uint32Array {
    const { rowNode, begin, end, parent } = this;
    for (const node of rowNode) if (node >= 0) begin[node + 1]! += 1;
    for (let node = 0; node < this.count; node++) begin[node + 1]! += begin[node]!;
    for (let node = this.count - 1; node > 0; node--) {
      end[node] = Math.max(end[node]!, begin[node + 1]!);
      end[parent[node]!] = Math.max(end[parent[node]!]!, end[node]!);
    }
    end[ROOT] = begin[this.count]!;
    const rows = new Uint32Array(end[ROOT]!);
    const next = begin.slice();
    for (let row = 0; row < rowNode.length; row++) if (rowNode[row]! >= 0) rows[next[rowNode[row]!]!++] = row;
    return rows;
  }

  /** Fills the columns, node by node, and returns the place of each node. */
  private walk(first: Int32Array, next: Int32Array, parent: Int32Array, functions: Int32Array, names: number): Int32Array {
    const places = new Int32Array(this.count);
    const open = new Uint32Array(names); // the nodes of each function on the path from the root
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
      let last = place; // the completed node, with all its callees
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

/** Returns the first callee and the next sibling of each node, in the order of their functions' ranks; 0 if there is none. */
function linked(parent: Int32Array, functions: Int32Array, rank: Uint32Array): [first: Int32Array, next: Int32Array] {
  const [first, next] = [new Int32Array(parent.length), new Int32Array(parent.length)];
  for (let node = parent.length - 1; node > 0; node--) {
    next[node] = first[parent[node]!]!;
    first[parent[node]!] = node;
  }
  const siblings: number[] = [];
  for (let caller = 0; caller < parent.length; caller++) {
    if (next[first[caller]!] === 0) continue; // most nodes call one function
    siblings.length = 0;
    for (let node = first[caller]!; node !== 0; node = next[node]!) siblings.push(node);
    siblings.sort((one, other) => rank[functions[one]!]! - rank[functions[other]!]!);
    first[caller] = siblings[0]!;
    siblings.forEach((node, at) => (next[node] = siblings[at + 1] ?? 0));
  }
  return [first, next];
}
