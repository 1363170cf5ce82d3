/**
 * The console of an integration (https://console.spec.whatwg.org/): each call becomes one bounded
 * line of its log.
 *
 * It only formats. `write` decides how many lines a call may write, and where they go.
 */

import { OfCall } from '../current-call.ts';
import {
  charCodeAt,
  defineProperty,
  indexOf,
  MapIntrinsic,
  mapDelete,
  mapGet,
  mapSet,
  mapSize,
  now,
  objectKeys,
  repeat,
  setPrototypeOf,
  slice,
} from '../primordials.ts';
import { isObject, toDOMString } from '../web-idl.ts';
import { formatTable } from './console-table.ts';
import { framesOf, isErrorLike, placeBehind } from './error-stack.ts';
import { formatError } from './format-error.ts';
import { inspect } from './inspect.ts';

export type ConsoleLevel = 'debug' | 'info' | 'warn' | 'error';
type Method = (...data: unknown[]) => void;

/** Characters of one line; `write` never receives more. */
const TEXT_CHARS_MAX = 8_192;
/** Characters that are read of a text shown as a number. */
const NUMBER_CHARS_MAX = 1_024;
/** Labels of counters and timers. Attack: an endless number of labels. */
const LABELS_MAX = 256;
const GROUPS_MAX = 32;

/**
 * Makes a console that passes each line to `write`: a primitive string of at most 8,192 characters.
 */
export function createConsole(write: (level: ConsoleLevel, text: string) => void): Record<string, Method> {
  const state = new OfCall(() => new ConsoleState());

  const print = (level: ConsoleLevel, text: string): void => {
    const { groups } = state.get();
    write(level, bounded(groups === 0 ? text : indent(text, repeat('  ', groups))));
  };
  const printer =
    (level: ConsoleLevel): Method =>
    (...data) =>
      print(level, formatData(data));
  const info = printer('info');
  const opener =
    (): Method =>
    (...data) => {
      if (data.length > 0) info(...data);
      const open = state.get();
      if (open.groups < GROUPS_MAX) open.groups++;
    };
  const methods: Record<string, Method> = {
    log: printer('info'),
    info,
    debug: printer('debug'),
    warn: printer('warn'),
    error: printer('error'),
    trace: (...data) => {
      const place = placeBehind(methods.trace as Method);
      print('debug', `Trace: ${formatData(data)}${framesOf(place)}`);
    },
    dir: (value, options) => {
      const depth = isObject(options) ? (options as { depth?: unknown }).depth : undefined;
      print('info', inspect(value, typeof depth === 'number' && depth >= 0 ? depth : undefined));
    },
    dirxml: printer('info'),
    table: (data) => print('info', formatTable(data) ?? formatData([data])),
    assert: (condition, ...data) => {
      if (condition) return;
      print('error', data.length === 0 ? 'Assertion failed' : `Assertion failed: ${formatData(data)}`);
    },
    ...createLabelled(print, state),
    group: opener(),
    groupCollapsed: opener(),
    groupEnd: () => {
      const open = state.get();
      if (open.groups > 0) open.groups--;
    },
    clear: () => {},
  };
  return asNamespace(methods);
}

/** What the console remembers of one call. */
class ConsoleState {
  /** Groups that are open. */
  groups = 0;
  readonly counts = new MapIntrinsic<string, number>();
  readonly timers = new MapIntrinsic<string, number>();
}

/** The operations that take a label: counters and timers. */
function createLabelled(
  print: (level: ConsoleLevel, text: string) => void,
  state: OfCall<ConsoleState>,
): Record<string, Method> {
  const elapsed = (label: string): string | undefined => {
    const start = mapGet(state.get().timers, label);
    if (start === undefined) print('warn', `Timer '${label}' does not exist`);
    return start === undefined ? undefined : `${label}: ${now() - start}ms`;
  };
  const remember = (labels: Map<string, number>, label: string, value: number): void => {
    if (mapSize(labels) < LABELS_MAX || mapGet(labels, label) !== undefined) mapSet(labels, label, value);
  };

  return {
    count: (label) => {
      const name = labelOf(label);
      const { counts } = state.get();
      const count = (mapGet(counts, name) ?? 0) + 1;
      remember(counts, name, count);
      print('info', `${name}: ${count}`);
    },
    countReset: (label) => {
      const name = labelOf(label);
      if (!mapDelete(state.get().counts, name)) print('warn', `Count for '${name}' does not exist`);
    },
    time: (label) => {
      const name = labelOf(label);
      const { timers } = state.get();
      if (mapGet(timers, name) === undefined) remember(timers, name, now());
      else print('warn', `Timer '${name}' already exists`);
    },
    timeLog: (label, ...data) => {
      const text = elapsed(labelOf(label));
      if (text !== undefined) print('info', data.length === 0 ? text : `${text} ${formatData(data)}`);
    },
    timeEnd: (label) => {
      const name = labelOf(label);
      const text = elapsed(name);
      mapDelete(state.get().timers, name);
      if (text !== undefined) print('info', text);
    },
  };
}

/** The shape of a namespace object (https://console.spec.whatwg.org/#console-namespace). */
function asNamespace(methods: Record<string, Method>): Record<string, Method> {
  for (const name of objectKeys(methods)) {
    defineProperty(methods[name], 'name', { value: name, configurable: true });
    defineProperty(methods[name], 'length', { value: 0, configurable: true });
  }
  setPrototypeOf(methods, {});
  defineProperty(methods, Symbol.toStringTag, { value: 'console', configurable: true });
  return methods;
}

/** "Formatter": the first argument may hold specifiers; the rest follow, separated by spaces. */
function formatData(data: readonly unknown[]): string {
  let text = '';
  let next = 0;
  if (typeof data[0] === 'string') {
    next = 1;
    // Cut first: text beyond the line is not scanned.
    const format = slice(data[0], 0, TEXT_CHARS_MAX);
    let start = 0;
    for (let at = indexOf(format, '%'); at >= 0 && at + 1 < format.length; at = indexOf(format, '%', at)) {
      const specifier = slice(format, at + 1, at + 2);
      const replacement =
        specifier === '%' ? '%' : next < data.length ? specified(specifier, data[next]) : undefined;
      if (specifier === '%' ? data.length > 1 : replacement !== undefined) {
        text += slice(format, start, at) + replacement;
        start = at + 2;
        if (specifier !== '%') next++;
      }
      at += 2;
    }
    text += slice(format, start);
  }
  for (; next < data.length && text.length < TEXT_CHARS_MAX; next++)
    text += `${next === 0 ? '' : ' '}${plain(data[next])}`;
  return text;
}

/** The text of an argument by its specifier; undefined for an unknown specifier. */
function specified(specifier: string, value: unknown): string | undefined {
  switch (specifier) {
    case 's':
      return isObject(value) ? inspect(value, 0) : plain(value);
    case 'd':
    case 'i':
    case 'f': {
      if (typeof value === 'bigint') return plain(value);
      if (typeof value === 'symbol' || isObject(value)) return 'NaN';
      // Attack: a text of megabytes, which the engine reads as a number without interruption.
      const number = Number(typeof value === 'string' ? slice(value, 0, NUMBER_CHARS_MAX) : value);
      return `${specifier === 'i' ? Math.trunc(number) : number}`;
    }
    case 'j':
    case 'o':
    case 'O':
      return inspect(value);
    case 'c':
      return '';
    default:
      return undefined;
  }
}

const plain = (value: unknown): string => {
  if (typeof value === 'string') return slice(value, 0, TEXT_CHARS_MAX);
  return isErrorLike(value) ? formatError(value) : inspect(value);
};

/** A label as a DOMString. Errors of the conversion reach the script, as the standard requires. */
const labelOf = (label: unknown): string =>
  label === undefined ? 'default' : slice(toDOMString(label), 0, 128);

const bounded = (text: string): string =>
  text.length > TEXT_CHARS_MAX ? `${slice(text, 0, TEXT_CHARS_MAX - 1)}…` : text;

/** Indents every line. */
function indent(text: string, margin: string): string {
  let moved = margin;
  let start = 0;
  for (let i = 0; i < text.length && moved.length < TEXT_CHARS_MAX; i++) {
    if (charCodeAt(text, i) !== 0x0a) continue;
    moved += slice(text, start, i + 1) + margin;
    start = i + 1;
  }
  return moved + slice(text, start);
}
