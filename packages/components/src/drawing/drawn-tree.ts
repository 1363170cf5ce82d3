/**
 * Reads ContentKit into a tree of nodes that can be drawn: elements of the catalogue alone, bounded
 * in number, depth and text (`limits.ts`). It draws nothing and reads no attribute but those that
 * hold elements.
 *
 * Attack: a drawing of 100,000 elements, or one that is nested without end. Reading stops at the
 * bound, and a node `#cut` stands where it stopped.
 */
import { elementsOpened } from '../../../../src/model/contentkit/drawing-bounds.ts';
import { LIMITS } from '../limits.ts';
import type { JsonObject } from '../transport.ts';
import { isObject, textMember } from './json.ts';

export interface DrawnNode {
  /** Name of an element of the catalogue, or `#text`, or `#cut` for what was left out. */
  readonly type: string;
  /** The element as it came: its attributes. */
  readonly attributes: JsonObject;
  /** Of `#text`. */
  readonly text: string;
  readonly children: readonly DrawnNode[];
  /** Attribute → the elements in it. */
  readonly slots: Readonly<Record<string, readonly DrawnNode[]>>;
  /** Its place in the tree: the same element of the next drawing has the same, if nothing moved. */
  readonly path: string;
  /** Cost of all nodes before it (`limits.ts`, `SLICE`). */
  readonly position: number;
}

export interface DrawnTree {
  readonly root: DrawnNode;
  /** Cost of all nodes. */
  readonly cost: number;
  readonly nodes: number;
  /** Whether something was left out. */
  readonly cut: boolean;
  /** Paths of all elements. */
  readonly paths: ReadonlySet<string>;
}

/** Elements of the catalogue → attributes that hold elements. */
const SLOTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['block', []],
  ['modal', ['subtitle', 'submit']],
  ['configuration', []],
  ['stepper', []],
  ['step', ['next']],
  ['vstack', []],
  ['hstack', []],
  ['box', []],
  ['divider', []],
  ['text', []],
  ['link', []],
  ['hint', []],
  ['markdown', []],
  ['image', []],
  ['card', ['hint', 'icon', 'buttons']],
  ['button', []],
  ['input', ['hint', 'element']],
  ['textinput', []],
  ['select', []],
  ['switch', []],
  ['radio', []],
  ['checkbox', []],
  ['codeblock', ['buttons', 'header', 'footer']],
  ['webframe', ['buttons']],
]);

const NONE: DrawnNode['slots'] = Object.freeze({});
const ROOTS: ReadonlySet<string> = new Set(['block', 'modal', 'configuration']);
/** Characters that cost as much as a node. */
const CHARS_A_COST = 100;
/** Markdown is parsed, which costs more. */
const MARKDOWN_CHARS_A_COST = 40;
const ENTRIES_A_COST = 4;

class TreeReader {
  cost = 0;
  nodes = 0;
  chars = 0;
  cut = false;
  readonly paths = new Set<string>();

  /** @returns undefined for what is no element and no text */
  node(value: unknown, path: string, depth: number): DrawnNode | undefined {
    if (typeof value === 'string' || typeof value === 'number') return this.#text(String(value), path);
    if (!isObject(value)) return undefined;
    const type = textMember(value, 'type') ?? '';
    const slotNames = SLOTS.get(type);
    if (slotNames === undefined) return undefined;
    const position = this.cost;
    this.#count(value, type);
    this.paths.add(path);
    const slots: Record<string, readonly DrawnNode[]> = {};
    for (const name of slotNames) {
      const held = value[name];
      // An icon may be the name of one, and a remark a text.
      if (held !== undefined && !(name === 'icon' && typeof held === 'string'))
        slots[name] = this.list(Array.isArray(held) ? held : [held], `${path}.${name}`, depth + 1);
    }
    const children = Array.isArray(value['children']) ? this.list(value['children'], path, depth + 1) : [];
    const own = slotNames.length === 0 ? NONE : slots;
    return { type, attributes: value, text: '', children, slots: own, path, position };
  }

  list(values: readonly unknown[], path: string, depth: number): readonly DrawnNode[] {
    const read: DrawnNode[] = [];
    if (depth > LIMITS.depth) {
      if (values.length > 0) read.push(this.#cutAt(path));
      return read;
    }
    for (const [index, value] of values.entries()) {
      // Before an element that opens too many others.
      const after = this.nodes + (isObject(value) ? opened(value) : 0);
      if (after >= LIMITS.nodes || this.chars >= LIMITS.drawingChars) {
        read.push(this.#cutAt(`${path}/${index}`));
        break;
      }
      const here = `${path}/${index}`;
      if (Array.isArray(value)) read.push(...this.list(value, here, depth + 1));
      else {
        const node = this.node(value, here, depth);
        if (node !== undefined) read.push(node);
      }
    }
    return read;
  }

  #text(text: string, path: string): DrawnNode {
    const node = { ...leaf('#text', path, this.cost), text };
    this.nodes += 1;
    this.chars += text.length;
    this.cost += 1 + Math.min(text.length, LIMITS.textChars) / CHARS_A_COST;
    return node;
  }

  #cutAt(path: string): DrawnNode {
    this.cut = true;
    return leaf('#cut', path, this.cost);
  }

  #count(element: JsonObject, type: string): void {
    const elements = opened(element);
    this.nodes += 1 + elements;
    this.cost += 1 + elements;
    const charsACost = type === 'markdown' ? MARKDOWN_CHARS_A_COST : CHARS_A_COST;
    for (const value of Object.values(element)) {
      if (typeof value === 'string') {
        this.chars += value.length;
        this.cost += Math.min(value.length, LIMITS.markdownChars) / charsACost;
      } else if (Array.isArray(value) && value !== element['children'])
        this.cost += Math.min(value.length, LIMITS.choices) / ENTRIES_A_COST;
    }
  }
}

/** A text that is too rich is shown as it is written. */
const opened = (element: JsonObject): number => {
  const elements = elementsOpened(element);
  return element['type'] === 'markdown' && elements > LIMITS.markdownElements ? 0 : elements;
};

const leaf = (type: string, path: string, position: number): DrawnNode => ({
  type,
  attributes: {},
  text: '',
  children: [],
  slots: NONE,
  path,
  position,
});

/** @returns undefined if it is no root of ContentKit */
export function readTree(element: unknown): DrawnTree | undefined {
  if (!isObject(element) || !ROOTS.has(textMember(element, 'type') ?? '')) return undefined;
  const reader = new TreeReader();
  const root = reader.node(element, '', 0);
  if (root === undefined) return undefined;
  const { cost, nodes, cut, paths } = reader;
  return { root, cost, nodes, cut, paths };
}

/** All nodes of a tree, in the order of the document, without recursion. */
export function* nodesOf(root: DrawnNode): Generator<DrawnNode> {
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    const below = [...Object.values(node.slots).flat(), ...node.children];
    waiting.push(...below.reverse());
  }
}
