/**
 * `node:console`: the console of the isolate, which writes to the log of the call, and the class
 * `Console`, which writes to streams of the code (https://nodejs.org/api/console.html).
 */
import { formatTime, tableOf } from './console-text.ts';
import {
  invalidArgValue,
  nodeError,
  unavailable,
  validateArray,
  validateInteger,
  validateObject,
  validateOneOf,
} from './errors.ts';
import { format, formatWithOptions, inspect } from './inspect.ts';
import { named } from './named.ts';
import { emitWarning } from './process.ts';

interface Output {
  write(text: string, done?: (error?: Error) => void): unknown;
  once?(name: string, listener: () => void): unknown;
  listenerCount?(name: string): number;
  removeListener?(name: string, listener: () => void): unknown;
  readonly isTTY?: boolean;
}
interface Options {
  readonly stdout: Output;
  readonly stderr?: Output;
  readonly ignoreErrors?: boolean;
  readonly colorMode?: boolean | 'auto';
  readonly inspectOptions?: { readonly colors?: boolean };
  readonly groupIndentation?: number;
}

const ignore = (): void => {};
const consoles = /* @__PURE__ */ new WeakSet<object>([console]);
const write = Symbol('write');

/** The methods; the class binds them to each console, as code passes them on. */
class ConsoleBase {
  readonly #options: Options;
  readonly #errors: Output;
  readonly #counts = new Map<string, number>();
  readonly #timers = new Map<string, number>();
  #indent = '';

  constructor(options: Options) {
    const { stdout, stderr = stdout, colorMode = 'auto', inspectOptions, groupIndentation } = options;
    for (const [name, stream] of Object.entries({ stdout, stderr })) {
      if (typeof stream?.write === 'function') continue;
      const message = `Console expects a writable stream instance for ${name}`;
      throw nodeError(TypeError, 'ERR_CONSOLE_WRITABLE_STREAM', message);
    }
    validateOneOf(colorMode, 'colorMode', ['auto', true, false]);
    if (groupIndentation !== undefined) validateInteger(groupIndentation, 'groupIndentation', 0, 1_000);
    if (inspectOptions !== undefined) {
      validateObject(inspectOptions, 'options.inspectOptions');
      if (inspectOptions.colors !== undefined && options.colorMode !== undefined) {
        const message =
          'Option "options.inspectOptions.color" cannot be used in combination with option "colorMode"';
        throw nodeError(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', message);
      }
    }
    this.#options = options;
    this.#errors = stderr;
    consoles.add(this);
  }

  #inspecting(output: Output): object {
    const { colorMode = 'auto', inspectOptions } = this.#options;
    const colors = colorMode === 'auto' ? output.isTTY === true : colorMode;
    return { colors, ...inspectOptions };
  }

  [write](output: Output, data: readonly unknown[]): void {
    let text = formatWithOptions(this.#inspecting(output), ...(data as [unknown]));
    if (this.#indent !== '') text = this.#indent + text.replaceAll('\n', `\n${this.#indent}`);
    if (this.#options.ignoreErrors === false) return void output.write(`${text}\n`);
    // There may be an error at once, or later.
    output.once?.('error', ignore);
    try {
      output.write(`${text}\n`, (error) => {
        if (error && output.listenerCount?.('error') === 0) output.once?.('error', ignore);
      });
    } catch (error) {
      if (error instanceof RangeError) throw error;
    } finally {
      output.removeListener?.('error', ignore);
    }
  }

  log(...data: unknown[]): void {
    this[write](this.#options.stdout, data);
  }

  warn(...data: unknown[]): void {
    this[write](this.#errors, data);
  }

  dir(value: unknown, options?: object): void {
    const text = inspect(value, {
      customInspect: false,
      ...this.#inspecting(this.#options.stdout),
      ...options,
    });
    this[write](this.#options.stdout, ['%s', text]);
  }

  trace(...data: unknown[]): void {
    const place = { name: 'Trace', message: format(...(data as [unknown])) } as unknown as Error;
    Error.captureStackTrace(place, ConsoleBase.prototype.trace);
    this[write](this.#errors, ['%s', place.stack]);
  }

  assert(condition: unknown, ...data: unknown[]): void {
    if (condition) return;
    const first =
      typeof data[0] === 'string'
        ? [`Assertion failed: ${data[0]}`, ...data.slice(1)]
        : ['Assertion failed:', ...data];
    this[write](this.#errors, data.length === 0 ? ['Assertion failed'] : first);
  }

  clear(): void {
    if (this.#options.stdout.isTTY) this.#options.stdout.write('\u001b[1;1H\u001b[0J');
  }

  count(label: unknown = 'default'): void {
    const name = `${label as string}`;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    this[write](this.#options.stdout, [`${name}: ${count}`]);
  }

  countReset(label: unknown = 'default'): void {
    if (!this.#counts.delete(`${label as string}`)) emitWarning(`Count for '${label}' does not exist`);
  }

  time(label: unknown = 'default'): void {
    const name = `${label as string}`;
    if (this.#timers.has(name)) emitWarning(`Label '${name}' already exists for console.time()`);
    else this.#timers.set(name, performance.now());
  }

  timeLog(label: unknown = 'default', ...data: unknown[]): void {
    this.#elapsed('timeLog', `${label as string}`, data);
  }

  timeEnd(label: unknown = 'default'): void {
    this.#elapsed('timeEnd', `${label as string}`, []);
    this.#timers.delete(`${label as string}`);
  }

  #elapsed(method: string, name: string, data: readonly unknown[]): void {
    const start = this.#timers.get(name);
    if (start === undefined) emitWarning(`No such label '${name}' for console.${method}()`);
    else this[write](this.#options.stdout, ['%s: %s', name, formatTime(performance.now() - start), ...data]);
  }

  group(...data: unknown[]): void {
    if (data.length > 0) this[write](this.#options.stdout, data);
    this.#indent += ' '.repeat(this.#options.groupIndentation ?? 2);
  }

  groupEnd(): void {
    this.#indent = this.#indent.slice(0, this.#indent.length - (this.#options.groupIndentation ?? 2));
  }

  table(data: unknown, properties?: readonly string[]): void {
    if (properties !== undefined) validateArray(properties, 'properties');
    const text = tableOf(data, properties, this.#inspecting(this.#options.stdout));
    this[write](this.#options.stdout, text === undefined ? [data] : ['%s', text]);
  }
}

const ALIASES = { debug: 'log', info: 'log', dirxml: 'log', error: 'warn', groupCollapsed: 'group' } as const;

function makeConsole() {
  /** Can be called without `new`. */
  function Console(this: unknown, ...passed: unknown[]): object {
    const [first, stderr, ignoreErrors] = passed as [Output | Options, Output, boolean];
    const given = typeof (first as Output | undefined)?.write === 'function' || passed.length !== 1;
    if (!given && (typeof first !== 'object' || first === null)) {
      const message = 'Console expects a writable stream instance for stdout';
      throw nodeError(TypeError, 'ERR_CONSOLE_WRITABLE_STREAM', message);
    }
    const options = given ? { stdout: first, stderr, ignoreErrors } : first;
    const made = Reflect.construct(ConsoleBase, [options], new.target ?? Console) as Record<string, Function>;
    for (const name of Object.getOwnPropertyNames(Console.prototype)) {
      if (name === 'constructor') continue;
      const value = (made[name] as Function).bind(made);
      Object.defineProperty(value, 'name', { value: name, configurable: true });
      Object.defineProperty(made, name, { value, writable: true, enumerable: true, configurable: true });
    }
    return made;
  }
  const methods = Object.getOwnPropertyDescriptors(ConsoleBase.prototype) as Record<
    string,
    PropertyDescriptor
  >;
  for (const [alias, name] of Object.entries(ALIASES)) methods[alias] = methods[name] as PropertyDescriptor;
  delete methods['constructor'];
  Object.defineProperties(Console.prototype, methods);
  Object.defineProperty(Console, Symbol.hasInstance, {
    value: (one: unknown) => consoles.has(one as object),
  });
  return Console;
}

export const Console = /* @__PURE__ */ makeConsole();

/** Functions of the debugger of Node.js, on the console of the isolate. */
function withDebugger() {
  const { Console: made } = named({ Console });
  const context = (): never => {
    throw unavailable('console.context');
  };
  const createTask = (name: string): object => {
    if (typeof name !== 'string' || name === '') throw invalidArgValue('name', name);
    return { run: (task: () => unknown): unknown => task() };
  };
  const members = {
    Console: made,
    profile: () => {},
    profileEnd: () => {},
    timeStamp: () => {},
    context,
    createTask,
  };
  return Object.assign(console as unknown as Record<string, Function>, named(members));
}
const all = /* @__PURE__ */ withDebugger();

export const { log, info, debug, warn, error, dir, time, timeEnd, timeLog, trace, assert, clear } = all;
export const { count, countReset, group, groupEnd, table, dirxml, groupCollapsed } = all;
export const { profile, profileEnd, timeStamp, context, createTask } = all;
export default all;
