/**
 * Text of a value for a log, much like Node's `util.inspect`.
 *
 * It never runs a getter, and reads built-in objects through their internal slots. A Proxy cannot
 * be distinguished from its target, so its traps may run; an error of theirs becomes a placeholder.
 * Attack: a cyclic or very wide object, or one that grows while it is read. Depth, entries and
 * length are bounded, and no uninterruptible operation of the engine runs over the whole of a long
 * value.
 */

import { List, push } from '../list.ts';
import {
  functionToString,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  isArray,
  isError,
  slice,
} from '../primordials.ts';
import { isObject } from '../web-idl.ts';
import { readStack } from './error-stack.ts';
import { type Content, describerOf, type Inspector } from './inspect-built-in.ts';
import { isIndex, keyText, layOut, primitiveText } from './inspect-text.ts';
import { isLong, shownKeys } from './shown-keys.ts';

const DEPTH_MAX = 4;
const ENTRIES_MAX = 100;
const TEXT_CHARS_MAX = 8_192;
const NAME_CHARS_MAX = 128;

/** The text of any value, at most 8 KiB of characters. Never throws. */
export function inspect(value: unknown, depthMax: number = DEPTH_MAX): string {
  const text = new Inspection(depthMax).show(value);
  return text.length > TEXT_CHARS_MAX ? `${slice(text, 0, TEXT_CHARS_MAX - 1)}…` : text;
}

/** One inspection of one value. */
class Inspection implements Inspector {
  readonly #depthMax: number;
  /** The objects around the current one, to detect cycles. */
  readonly #path = new List<object>();
  /** Characters left for the rest of the text. */
  #budget = TEXT_CHARS_MAX;

  constructor(depthMax: number) {
    this.#depthMax = depthMax;
  }

  show(value: unknown): string {
    if (!isObject(value)) return this.#spend(primitiveText(value));
    for (let i = 0; i < this.#path.length; i++) if (this.#path[i] === value) return '[Circular]';
    const depth = this.#path.length;
    try {
      return this.#object(value, depth);
    } catch {
      this.#path.length = depth;
      return this.#spend('[cannot be shown]');
    }
  }

  full(index: number): boolean {
    return index >= ENTRIES_MAX || this.#budget <= 0;
  }

  #object(value: object, depth: number): string {
    const name = constructorName(value);
    push(this.#path, value);
    const array = isArray(value);
    const content = array ? this.#array(value, name, depth) : this.#content(value, name, depth);
    const entries = content.entries ?? new List<string>();
    const title = this.#spend(content.title);
    if (depth <= this.#depthMax && !content.opaque)
      this.#members(value, entries, array || content.open === '[');
    this.#path.length = depth;
    if (entries.length === 0 && content.bare) return title;
    if (depth > this.#depthMax) return content.bare ? title : this.#spend(`[${title || name || 'Object'}]`);
    const open = content.open ?? '{';
    const head = title === '' ? open : `${title} ${open}`;
    return `${head}${layOut(entries, depth, head.length, open === '[')}${open === '[' ? ']' : '}'}`;
  }

  #content(value: object, name: string | undefined, depth: number): Content {
    if (typeof value === 'function') return { title: functionTitle(value), bare: true };
    if (isError(value)) return { title: readStack(value), bare: true };
    const describer = depth > this.#depthMax ? undefined : describerOf(value);
    if (describer !== undefined) {
      try {
        return describer(value, name ?? 'Object', this);
      } catch {
        this.#path.length = depth + 1;
      }
    }
    return { title: name === 'Object' ? '' : (name ?? '[Object: null prototype]') };
  }

  #array(array: unknown[], name: string | undefined, depth: number): Content {
    const length = getOwnPropertyDescriptor(array, 'length')?.value as unknown;
    const count = typeof length === 'number' ? length : 0;
    const title = name === 'Array' ? '' : `${name ?? '[Array: null prototype]'}(${count})`;
    if (depth > this.#depthMax) return { title: title || 'Array', open: '[' };
    const entries = new List<string>();
    for (let i = 0; i < count; i++) {
      if (this.full(i)) {
        push(entries, `... ${count - i} more`);
        break;
      }
      const descriptor = getOwnPropertyDescriptor(array, i);
      push(entries, descriptor === undefined ? '<empty>' : this.#member(descriptor));
    }
    return { title, open: '[', entries };
  }

  #members(value: object, entries: List<string>, indexed: boolean): void {
    // A long value shows its elements only.
    if (indexed && isLong(value)) return;
    const keys = shownKeys(value, ENTRIES_MAX + 1);
    let shown = 0;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string | symbol;
      if (indexed && isIndex(key)) continue;
      const descriptor = getOwnPropertyDescriptor(value, key);
      if (!descriptor?.enumerable) continue;
      if (this.full(shown++)) {
        push(entries, '...');
        return;
      }
      push(entries, `${this.#spend(keyText(key))}: ${this.#member(descriptor)}`);
    }
  }

  #member(descriptor: PropertyDescriptor): string {
    if (descriptor.get !== undefined) return descriptor.set === undefined ? '[Getter]' : '[Getter/Setter]';
    return descriptor.set === undefined ? this.show(descriptor.value) : '[Setter]';
  }

  #spend(text: string): string {
    const rest = this.#budget > 0 ? this.#budget : 0;
    this.#budget -= text.length;
    return text.length > rest ? `${slice(text, 0, rest)}…` : text;
  }
}

/** Name of the nearest `constructor` on the prototype chain, if any. */
function constructorName(value: object): string | undefined {
  let prototype = getPrototypeOf(value) as object | null;
  for (let hops = 0; prototype !== null && hops < 32; hops++) {
    const maker: unknown = getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    if (typeof maker === 'function') {
      const name: unknown = getOwnPropertyDescriptor(maker, 'name')?.value;
      if (typeof name === 'string' && name !== '') return slice(name, 0, NAME_CHARS_MAX);
    }
    prototype = getPrototypeOf(prototype) as object | null;
  }
  return undefined;
}

function functionTitle(value: Function): string {
  const own: unknown = getOwnPropertyDescriptor(value, 'name')?.value;
  const name = typeof own === 'string' && own !== '' ? slice(own, 0, NAME_CHARS_MAX) : '(anonymous)';
  return slice(functionToString(value), 0, 5) === 'class' ? `[class ${name}]` : `[Function: ${name}]`;
}
