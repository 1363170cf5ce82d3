/**
 * `node:readline`: the lines of a stream, questions over streams, and the codes that move a cursor
 * (https://nodejs.org/api/readline.html). There is no terminal: functions that
 * edit a line on one throw.
 */
import { absentMembers } from './absent.ts';
import { type Emitter, EventEmitter } from './emitter.ts';
import {
  aborted,
  invalidArgType,
  invalidArgValue,
  nodeError,
  unavailable,
  validateAbortSignal,
  validateArray,
  validateBoolean,
  validateFunction,
  validateInteger,
  validateNumber,
  validateUint32,
} from './errors.ts';
import { asyncIterator, type Listener, on } from './events-waiting.ts';
import { named, oldClass } from './named.ts';

type Done = (answer: string) => void;
interface Input {
  on(name: string, listener: Listener): unknown;
  removeListener(name: string, listener: Listener): unknown;
  pause(): unknown;
  resume(): unknown;
}
interface Output {
  write(text: string, done?: (error?: Error | null) => void): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
}
interface Options {
  readonly input: Input;
  readonly output?: Output;
  readonly completer?: unknown;
  readonly terminal?: boolean;
  readonly history?: unknown;
  readonly historySize?: number;
  readonly removeHistoryDuplicates?: boolean;
  readonly prompt?: string;
  readonly crlfDelay?: number;
  readonly escapeCodeTimeout?: number;
  readonly tabSize?: number;
  readonly signal?: AbortSignal;
}
interface Asking {
  readonly signal?: AbortSignal;
}

/** What an interface keeps to itself. */
const STATE = Symbol('state');
interface State {
  readonly decoder: TextDecoder;
  prompt: string;
  /** What was read of the next line. */
  rest: string;
  /** When a piece ended with a carriage return, whose line feed may follow. */
  returnAt: number;
  question: Done | undefined;
  promptBefore: string;
  lines: AsyncIterableIterator<string> | undefined;
}
interface Lines extends Emitter {
  [STATE]: State;
  readonly input: Input;
  readonly output: Output | null | undefined;
  readonly crlfDelay: number;
  paused?: boolean;
  closed?: boolean;
  close(): void;
  off(name: string, listener: Listener): this;
  pause(): this | undefined;
  prompt(): void;
  question(query: string, options?: Asking | Done, done?: Done): void;
  resume(): this | undefined;
}

const LINE_END = /\r?\n|\r|\u2028|\u2029/;
const CRLF_DELAY_MS = 100;

/** Takes the next piece of the input. */
function read(lines: Lines, piece: string | Uint8Array<ArrayBuffer>): void {
  const state = lines[STATE];
  let text = typeof piece === 'string' ? piece : state.decoder.decode(piece, { stream: true });
  if (state.returnAt > 0 && Date.now() - state.returnAt <= lines.crlfDelay) {
    if (text.startsWith('\n')) text = text.slice(1);
    state.returnAt = 0;
  }
  const parts = text.split(LINE_END);
  if (parts.length > 1) state.returnAt = text.endsWith('\r') ? Date.now() : 0;
  parts[0] = state.rest + (parts[0] as string);
  state.rest = parts.pop() as string;
  for (const line of parts) take(lines, line);
}

/** A line is the answer of a question, or an event. */
function take(lines: Lines, line: string): void {
  const state = lines[STATE];
  const answer = state.question;
  if (answer === undefined) return void lines.emit('line', line);
  state.question = undefined;
  state.prompt = state.promptBefore;
  answer(line);
}

function begin(this: Lines, given: Options | Input, ...others: unknown[]): void {
  EventEmitter.call(this);
  const [output, completer, terminal] = others as [Output?, unknown?, boolean?];
  const options: Options =
    'input' in given && given.input ? given : ({ input: given, output, completer, terminal } as Options);
  const { input, history = [], historySize = 30, tabSize = 8, escapeCodeTimeout = 500, signal } = options;
  if (!Number.isFinite(escapeCodeTimeout)) throw invalidArgValue('input.escapeCodeTimeout', 500);
  validateUint32(tabSize, 'tabSize', true);
  if (signal !== undefined) validateAbortSignal(signal, 'options.signal');
  if (options.completer !== undefined && typeof options.completer !== 'function')
    throw invalidArgValue('completer', options.completer);
  validateArray(history, 'history');
  validateNumber(historySize, 'size', 0);
  if (options.terminal ?? options.output?.isTTY) throw unavailable('readline on a terminal');
  Object.assign(this, {
    ...{ input, output: options.output, completer: options.completer, terminal: false, line: '' },
    ...{ history, historySize, removeHistoryDuplicates: options.removeHistoryDuplicates === true },
    ...{ escapeCodeTimeout, tabSize, isCompletionEnabled: true },
    crlfDelay: Math.max(CRLF_DELAY_MS, options.crlfDelay || 0),
  });
  this[STATE] = {
    ...{ decoder: new TextDecoder('utf-8', { ignoreBOM: true }), prompt: options.prompt ?? '> ', rest: '' },
    ...{ returnAt: 0, question: undefined, promptBefore: '', lines: undefined },
  };
  const listeners: Readonly<Record<string, Listener>> = {
    error: (error) => this.emit('error', error),
    data: (piece) => read(this, piece as string),
    end: () => {
      if (this[STATE].rest !== '') this.emit('line', this[STATE].rest);
      this.close();
    },
  };
  for (const [name, listener] of Object.entries(listeners)) input.on(name, listener);
  const close = () => this.close();
  this.on('close', () => {
    for (const [name, listener] of Object.entries(listeners)) input.removeListener(name, listener);
    signal?.removeEventListener('abort', close);
  });
  if (signal?.aborted) queueMicrotask(close);
  else signal?.addEventListener('abort', close, { once: true });
  input.resume();
}

const checkOpen = (lines: Lines): void => {
  if (lines.closed) throw nodeError(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');
};

const methods = {
  get columns(): number {
    return (this as unknown as Lines).output?.columns ?? Number.POSITIVE_INFINITY;
  },
  setPrompt(this: Lines, prompt: string): void {
    this[STATE].prompt = prompt;
  },
  getPrompt(this: Lines): string {
    return this[STATE].prompt;
  },
  prompt(this: Lines): void {
    if (this.paused) this.resume();
    this.output?.write(this[STATE].prompt);
  },
  question(this: Lines, query: string, options?: Asking | Done, done?: Done): void {
    const answer = typeof options === 'function' ? options : done;
    const signal = typeof options === 'object' ? options?.signal : undefined;
    if (signal !== undefined) validateAbortSignal(signal, 'options.signal');
    if (signal?.aborted || typeof answer !== 'function') return;
    checkOpen(this);
    const state = this[STATE];
    if (state.question !== undefined) return this.prompt();
    const cancel = (): void => {
      state.question = undefined;
      state.prompt = state.promptBefore;
    };
    signal?.addEventListener('abort', cancel, { once: true });
    state.question = (text) => {
      signal?.removeEventListener('abort', cancel);
      answer(text);
    };
    state.promptBefore = state.prompt;
    state.prompt = query;
    this.prompt();
  },
  close(this: Lines): void {
    if (this.closed) return;
    this.pause();
    this.closed = true;
    this.emit('close');
  },
  pause(this: Lines): Lines | undefined {
    if (this.paused) return undefined;
    this.input.pause();
    this.paused = true;
    this.emit('pause');
    return this;
  },
  resume(this: Lines): Lines | undefined {
    if (!this.paused) return undefined;
    this.input.resume();
    this.paused = false;
    this.emit('resume');
    return this;
  },
  write(this: Lines, text?: string): void {
    checkOpen(this);
    if (this.paused) this.resume();
    if (text !== undefined) read(this, text);
  },
  getCursorPos(): never {
    throw unavailable('readline.Interface.getCursorPos');
  },
  [Symbol.dispose](this: Lines): void {
    this.close();
  },
  [Symbol.asyncIterator](this: Lines): AsyncIterableIterator<string> {
    const state = this[STATE];
    if (state.lines !== undefined) return state.lines;
    const heard = on(this, 'line', { close: ['close'], highWaterMark: 1_024 });
    state.lines = asyncIterator<string>({
      next: async () => {
        const { value, done } = await heard.next();
        return done ? { value: undefined, done: true } : { value: (value as [string])[0], done: false };
      },
      return: async () => {
        await heard.return?.();
        this.close();
        return { value: undefined, done: true };
      },
    });
    return state.lines;
  },
};

/** A question as a promise. */
const ask = (lines: Lines, query: string, options: Asking = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const { signal } = options ?? {};
    if (signal !== undefined) validateAbortSignal(signal, 'options.signal');
    if (signal?.aborted) return reject(aborted(signal));
    const abort = () => reject(aborted(signal as AbortSignal));
    signal?.addEventListener('abort', abort, { once: true });
    methods.question.call(lines, query, options, (answer) => {
      signal?.removeEventListener('abort', abort);
      resolve(answer);
    });
  });
Object.defineProperty(methods.question, Symbol.for('nodejs.util.promisify.custom'), {
  value(this: Lines, query: string, options?: Asking) {
    return ask(this, query, options);
  },
});

export const Interface = /* @__PURE__ */ oldClass<Lines>('Interface', EventEmitter, methods, begin as never);
export const createInterface = (...passed: unknown[]): Lines => new Interface(...passed);

type Written = (error?: Error | null) => void;
const CSI = '\u001b[';
const CLEAR_DOWN = `${CSI}0J`;
const cleared = (side: number): string => `${CSI}${side < 0 ? 1 : side > 0 ? 0 : 2}K`;
const placed = (x: number, y?: number | null): string =>
  typeof y === 'number' ? `${CSI}${y + 1};${x + 1}H` : `${CSI}${x + 1}G`;
function moved(dx: number, dy: number): string {
  const across = dx < 0 ? `${CSI}${-dx}D` : dx > 0 ? `${CSI}${dx}C` : '';
  return across + (dy < 0 ? `${CSI}${-dy}A` : dy > 0 ? `${CSI}${dy}B` : '');
}

function send(stream: Output | null | undefined, text: string, done: Written | undefined): boolean {
  if (done !== undefined) validateFunction(done, 'callback');
  if (stream !== null && stream !== undefined && text !== '') return stream.write(text, done);
  if (done !== undefined) queueMicrotask(() => done(null));
  return true;
}

export const clearLine = (stream: Output, side: number, done?: Written): boolean =>
  send(stream, cleared(side), done);
export const clearScreenDown = (stream: Output, done?: Written): boolean => send(stream, CLEAR_DOWN, done);
export const moveCursor = (stream: Output, dx: number, dy: number, done?: Written): boolean =>
  send(stream, moved(dx, dy), done);

export function cursorTo(stream: Output, x: number, y?: number | Written, done?: Written): boolean {
  if (done !== undefined) validateFunction(done, 'callback');
  if (typeof y === 'function') return cursorTo(stream, x, undefined, y);
  if (Number.isNaN(x)) throw invalidArgValue('x', x);
  if (Number.isNaN(y)) throw invalidArgValue('y', y);
  const nowhere = typeof x !== 'number' && typeof y !== 'number';
  if (stream && typeof x !== 'number' && !nowhere) {
    const message = 'Cannot set cursor row without setting its column';
    throw nodeError(TypeError, 'ERR_INVALID_CURSOR_POS', message);
  }
  return send(stream, nowhere ? '' : placed(x, y), done);
}

/** Codes for the cursor, which are written together. */
class Readline {
  readonly #stream: Output;
  readonly #isDirect: boolean;
  #waiting = '';

  constructor(stream: Output & { readonly writable?: boolean }, options?: { readonly autoCommit?: boolean }) {
    if (stream?.writable !== true) throw invalidArgType('stream', 'Writable', stream);
    if (options?.autoCommit !== undefined) validateBoolean(options.autoCommit, 'options.autoCommit');
    this.#stream = stream;
    this.#isDirect = options?.autoCommit === true;
  }

  #add(text: string): this {
    if (this.#isDirect) queueMicrotask(() => this.#stream.write(text));
    else this.#waiting += text;
    return this;
  }

  clearLine(side: number): this {
    validateInteger(side, 'dir', -1, 1);
    return this.#add(cleared(side));
  }

  clearScreenDown(): this {
    return this.#add(CLEAR_DOWN);
  }

  cursorTo(x: number, y?: number | null): this {
    validateInteger(x, 'x');
    if (y !== undefined && y !== null) validateInteger(y, 'y');
    return this.#add(placed(x, y));
  }

  moveCursor(dx: number, dy: number): this {
    if (!dx && !dy) return this;
    validateInteger(dx, 'dx');
    validateInteger(dy, 'dy');
    return this.#add(moved(dx, dy));
  }

  commit(): Promise<void> {
    return new Promise((resolve) => {
      this.#stream.write(this.#waiting, () => resolve());
      this.#waiting = '';
    });
  }

  rollback(): this {
    this.#waiting = '';
    return this;
  }
}

const Promised = /* @__PURE__ */ oldClass<Lines>(
  'Interface',
  Interface,
  {
    question(this: Lines, query: string, options?: Asking): Promise<string> {
      return ask(this, query, options);
    },
  },
  begin as never,
);

export const promises = {
  Interface: Promised,
  Readline,
  createInterface: (...passed: unknown[]): Lines => new Promised(...passed),
};
export const { emitKeypressEvents } = /* @__PURE__ */ absentMembers('readline', ['emitKeypressEvents']);

export default /* @__PURE__ */ named({
  Interface,
  clearLine,
  clearScreenDown,
  createInterface,
  cursorTo,
  emitKeypressEvents,
  moveCursor,
  promises: named(promises),
});
