/**
 * Finds secrets in bytes with one Aho–Corasick automaton over the heads of all secrets; each byte
 * is read once.
 *
 * Attack: secrets with a common prefix, and a text that repeats it. A search that tries one secret
 * after the other takes the length of the text times the number and the length of the secrets. Here
 * only a bounded head of each secret is in the automaton, so it stays small. Where a head is found,
 * the following bytes are compared with all secrets of that head at once: they are sorted, and the
 * range of those that still match only shrinks.
 *
 * It works on bytes and decodes nothing.
 */

/** Maximum bytes of a secret in the automaton. */
const HEAD_BYTES = 48;
/**
 * Budget of bytes compared after heads, per byte of the text, plus a fixed amount per text, so that
 * a short text can be all secret.
 */
const COMPARED_PER_BYTE = 16;
const COMPARED_BYTES = 16 * 1024;
/** A byte that never occurs in UTF-8: it resets the search. */
export const NO_BYTE = 0xff;

/** Bytes to search, and the offset of each in the original text. */
export interface View {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** Offset in the text for each byte and for the end; absent where offsets are identical. */
  readonly offsets?: Int32Array;
}

/** Disjoint, ordered parts of the text, as a flat list: start, end (exclusive), start, … */
export type Spans = number[];

export class SecretSearch {
  /** Approximate memory, in bytes. */
  readonly size: number;
  /** Sorted. */
  readonly #secrets: readonly Uint8Array[];
  /**
   * By node: the byte that leads to it, its depth, its failure link, and the length of the longest
   * match that ends here.
   */
  readonly #byte: Uint8Array;
  readonly #depth: Uint8Array;
  readonly #fail: Int32Array;
  readonly #hides: Uint8Array;
  /** By node: whether the next node is its child, and whether it has children elsewhere. */
  readonly #kin: Uint8Array;
  readonly #roots = new Int32Array(256);
  /** Children that are not the next node, by node and byte. */
  readonly #branches = new Map<number, number>();
  /** By the last node of a full head: the range of secrets that are longer than it. */
  readonly #longer = new Map<number, readonly [low: number, high: number]>();

  constructor(secrets: Iterable<Uint8Array>) {
    this.#secrets = sorted(secrets);
    const most = 1 + this.#secrets.reduce((sum, { length }) => sum + Math.min(length, HEAD_BYTES), 0);
    const parent = new Int32Array(most);
    const byte = new Uint8Array(most);
    this.#depth = new Uint8Array(most);
    this.#hides = new Uint8Array(most);
    this.#kin = new Uint8Array(most);
    const nodes = this.#grow(parent, byte);
    // Common prefixes share nodes, so fewer are needed than were allocated.
    this.#byte = byte.slice(0, nodes);
    this.#fail = new Int32Array(nodes);
    this.#link(parent);
    const bytes = this.#secrets.reduce((sum, { length }) => sum + length, 0);
    this.size = 2_048 + bytes + 160 * this.#secrets.length + 4 * most + 5 * nodes + 64 * this.#branches.size;
  }

  /** Builds the trie of heads. @returns the number of its nodes */
  #grow(parent: Int32Array, byte: Uint8Array): number {
    const path = new Int32Array(HEAD_BYTES + 1);
    let nodes = 1;
    let before: Uint8Array = new Uint8Array(0);
    for (const [index, secret] of this.#secrets.entries()) {
      const length = Math.min(secret.length, HEAD_BYTES);
      let at = 0;
      while (at < length && at < before.length && secret[at] === before[at]) at += 1;
      for (; at < length; at += 1) {
        const from = path[at] ?? 0;
        const code = secret[at] ?? 0;
        parent[nodes] = from;
        byte[nodes] = code;
        this.#depth[nodes] = at + 1;
        this.#adopt(from, code, nodes);
        path[at + 1] = nodes;
        nodes += 1;
      }
      const end = path[length] ?? 0;
      this.#hides[end] = length;
      if (secret.length > HEAD_BYTES) this.#longer.set(end, [this.#longer.get(end)?.[0] ?? index, index + 1]);
      before = secret;
    }
    return nodes;
  }

  #adopt(parent: number, code: number, node: number): void {
    if (parent === 0) {
      this.#roots[code] = node;
    } else if (node === parent + 1) {
      this.#kin[parent] = (this.#kin[parent] ?? 0) | 1;
    } else {
      this.#kin[parent] = (this.#kin[parent] ?? 0) | 2;
      this.#branches.set(parent * 256 + code, node);
    }
  }

  /**
   * Sets the failure links, by increasing depth: each is the longest proper suffix that is also in
   * the trie.
   */
  #link(parent: Int32Array): void {
    const byDepth: number[][] = Array.from({ length: HEAD_BYTES + 1 }, () => []);
    for (let node = 1; node < this.#byte.length; node += 1) byDepth[this.#depth[node] ?? 0]?.push(node);
    for (const node of byDepth.flat()) {
      const from = parent[node] ?? 0;
      const link = from === 0 ? 0 : this.#next(this.#fail[from] ?? 0, this.#byte[node] ?? 0);
      this.#fail[node] = link;
      if (this.#hides[node] === 0) this.#hides[node] = this.#hides[link] ?? 0;
    }
  }

  #next(from: number, code: number): number {
    let node = from;
    while (node !== 0) {
      const kin = this.#kin[node] ?? 0;
      if ((kin & 1) !== 0 && this.#byte[node + 1] === code) return node + 1;
      if ((kin & 2) !== 0) {
        const branch = this.#branches.get(node * 256 + code);
        if (branch !== undefined) return branch;
      }
      node = this.#fail[node] ?? 0;
    }
    return this.#roots[code] ?? 0;
  }

  /**
   * Adds the spans of all secrets to `spans`.
   *
   * @param cuts offsets in the text, in order, where it may have been truncated: the beginning of a
   * secret before one is a match
   * @param cutMin minimum bytes of such a beginning
   */
  search({ bytes, length, offsets }: View, cuts: readonly number[], cutMin: number, spans: Spans): void {
    let node = 0;
    let cut = 0;
    /**
     * Heads that begin before this are inside of bytes that were compared already; they are
     * compared only while the budget lasts.
     */
    let compareFrom = 0;
    let left = COMPARED_BYTES + COMPARED_PER_BYTE * length;
    const add = (from: number, to: number): void =>
      offsets ? addSpan(spans, offsets[from] ?? 0, offsets[to] ?? 0) : addSpan(spans, from, to);
    for (let at = 0; at <= length; at += 1) {
      const offset = offsets ? (offsets[at] ?? 0) : at;
      while (cut < cuts.length && (cuts[cut] ?? 0) <= offset) {
        const depth = this.#depth[node] ?? 0;
        if (depth >= cutMin) add(at - depth, at);
        cut += 1;
      }
      if (at === length) break;
      node = this.#next(node, bytes[at] ?? 0);
      const hidden = this.#hides[node] ?? 0;
      if (hidden === 0) continue;
      const from = at + 1 - hidden;
      let to = at + 1;
      // Attack: a secret of five thousand equal letters, compared at each letter of such a text.
      // Matches that overlap an earlier one are extended only within a budget linear in the text.
      if (hidden === HEAD_BYTES && (left > 0 || from >= compareFrom)) {
        to = this.#compare(node, bytes, to, length);
        left -= to - at;
        compareFrom = Math.max(compareFrom, from + 1, to - HEAD_BYTES);
      }
      add(from, to);
    }
  }

  /** @returns the offset at which the bytes stop matching any secret with this head */
  #compare(head: number, bytes: Uint8Array, from: number, length: number): number {
    let [low, high] = this.#longer.get(head) ?? [0, 0];
    let at = HEAD_BYTES;
    let to = from;
    while (low < high && to < length) {
      const code = bytes[to] ?? 0;
      // Sorted: where the first and the last have this byte, all between them do.
      if (this.#secrets[low]?.[at] !== code) low = this.#firstFrom(low, high, at, code);
      if (low < high && this.#secrets[high - 1]?.[at] !== code)
        high = this.#firstFrom(low, high, at, code + 1);
      if (low >= high) break;
      at += 1;
      to += 1;
    }
    return to;
  }

  /**
   * Binary search in secrets with a common prefix: the first whose byte at `at` is `code` or
   * greater.
   */
  #firstFrom(from: number, to: number, at: number, code: number): number {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#secrets[middle]?.[at] ?? -1) < code) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Sorted by bytes, without duplicates. */
function sorted(secrets: Iterable<Uint8Array>): Uint8Array[] {
  const all = [...secrets].filter(({ length }) => length > 0).sort(Buffer.compare);
  return all.filter((secret, index) => index === 0 || Buffer.compare(secret, all[index - 1] ?? secret) !== 0);
}

/** Adds a span to spans sorted by their ends, and joins those that touch. */
export function addSpan(spans: Spans, from: number, to: number): void {
  let begin = from;
  let end = to;
  while (spans.length > 0 && (spans.at(-1) ?? 0) >= begin) {
    end = Math.max(end, spans.pop() ?? 0);
    begin = Math.min(begin, spans.pop() ?? 0);
  }
  spans.push(begin, end);
}
