/**
 * `node:util`: functions for callbacks, promises, texts and kinds
 * (https://nodejs.org/api/util.html), and those that older versions of Node.js had.
 */
import { signals } from 'node-tables/os.json';
import { isDeepStrictEqual } from './deep-equal.ts';
import { diff } from './diff.ts';
import {
  invalidArgType,
  invalidArgValue,
  nodeError,
  unavailable,
  validateAbortSignal,
  validateBoolean,
  validateFunction,
  validateInteger,
  validateObject,
  validateOneOf,
  validateString,
} from './errors.ts';
import { format, formatWithOptions, inspect, stripVTControlCharacters as withoutCodes } from './inspect.ts';
import { MIMEParams, MIMEType } from './mime.ts';
import { named } from './named.ts';
import { parseArgs } from './parse-args.ts';
import { process } from './process.ts';
import { callbackify, promisify } from './promisify.ts';
import { getSystemErrorMap, getSystemErrorMessage, getSystemErrorName } from './system-errors.ts';
import types from './types.ts';
import * as old from './util-old.ts';

type Any = (...passed: never[]) => unknown;

function inherits(maker: Function, parent: Function): void {
  for (const [name, value] of Object.entries({ ctor: maker, superCtor: parent })) {
    if (value === undefined || value === null) throw invalidArgType(name, 'Function', value);
  }
  if (parent.prototype === undefined) throw invalidArgType('superCtor.prototype', 'Object', parent.prototype);
  Object.defineProperty(maker, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(maker.prototype, parent.prototype);
}

/** Codes of deprecations that have been said. */
const said = new Set<string>();

/** Warns at the first use of a function. */
function deprecate<T extends Function>(fn: T, message: string, code?: string): T {
  validateFunction(fn, 'fn');
  if (code !== undefined) validateString(code, 'code');
  let warned = false;
  const deprecated = function (this: unknown, ...passed: unknown[]): unknown {
    if (!warned && !(code !== undefined && said.has(code))) {
      if (code !== undefined) said.add(code);
      process.emitWarning(message, 'DeprecationWarning', code, deprecated);
    }
    warned = true;
    return new.target ? Reflect.construct(fn, passed, new.target) : Reflect.apply(fn, this, passed);
  };
  Object.setPrototypeOf(deprecated, fn);
  if (fn.prototype) deprecated.prototype = fn.prototype;
  Object.defineProperty(deprecated, 'length', { ...Object.getOwnPropertyDescriptor(fn, 'length') });
  return deprecated as unknown as T;
}

/** A function that writes to the log where `NODE_DEBUG` of the code's own environment names it. */
function debuglog(set: string, done?: (log: Any) => void): Any & { readonly enabled: boolean } {
  const name = `${set}`.toUpperCase();
  const names = (): string[] => (process.env['NODE_DEBUG'] ?? '').toUpperCase().split(',');
  const enabled = (): boolean =>
    names().some((word) => (word.endsWith('*') ? name.startsWith(word.slice(0, -1)) : word === name));
  let told = false;
  const log = (...passed: unknown[]): void => {
    if (!enabled()) return;
    if (!told) done?.(log as Any);
    told = true;
    console.error(`${name} ${process.pid}: ${format(...passed)}`);
  };
  return Object.defineProperty(log, 'enabled', {
    get: enabled,
    configurable: true,
    enumerable: true,
  }) as never;
}

interface Style {
  readonly validateStream?: boolean;
  readonly stream?: unknown;
}

/** An isolate has no terminal: texts get colours only where the code does not ask for one. */
function styleText(format: string | readonly string[], text: string, options: Style = {}): string {
  validateString(text, 'text');
  validateObject(options, 'options');
  const { validateStream = true, stream = process.stdout } = options;
  validateBoolean(validateStream, 'options.validateStream');
  if (validateStream && (typeof stream !== 'object' || stream === null)) {
    throw invalidArgType('stream', ['ReadableStream', 'WritableStream', 'Stream'], stream);
  }
  const plain = validateStream && (stream as { isTTY?: boolean }).isTTY !== true;
  let [opening, closing] = ['', ''];
  for (const key of Array.isArray(format) ? (format as string[]) : [format as string]) {
    if (key === 'none') continue;
    const codes = codesOf(key);
    opening += `\u001b[${codes[0]}m`;
    closing = `\u001b[${codes[1]}m${closing}`;
  }
  return plain ? text : `${opening}${text}${closing}`;
}

function codesOf(key: string): readonly [number | string, number] {
  if (typeof key === 'string' && key[0] === '#') {
    const digits = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(key)?.[1];
    if (digits === undefined)
      throw invalidArgValue('format', key, 'must be a valid hex color (#RGB or #RRGGBB)');
    const long = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
    const parts = [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16));
    return [`38;2;${parts.join(';')}`, 39];
  }
  const { colors } = inspect as unknown as { colors: Record<string, [number, number]> };
  const codes = colors[key];
  if (codes === undefined) validateOneOf(key, 'format', Object.getOwnPropertyNames(colors));
  return codes as [number, number];
}

async function aborted(signal: AbortSignal, resource: object): Promise<void> {
  if (!(signal instanceof AbortSignal))
    throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'signal is not of type AbortSignal.');
  validateObject(resource, 'resource', { array: true, function: true });
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  signal.addEventListener('abort', resolve, { once: true });
  await promise;
}

function transferableAbortSignal(signal: AbortSignal): AbortSignal {
  if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  validateAbortSignal(signal, 'signal');
  return signal;
}

/** The lines of a file of variables. */
function parseEnv(content: string): Record<string, string> {
  validateString(content, 'content');
  const values: Record<string, string> = Object.create(Object.prototype);
  const lines = content.replaceAll('\r\n', '\n');
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf('\n', at) < 0 ? lines.length : lines.indexOf('\n', at);
    const line = lines.slice(at, end);
    const equals = line.indexOf('=');
    const key = line
      .slice(0, equals < 0 ? 0 : equals)
      .trim()
      .replace(/^export /, '')
      .trim();
    const from =
      at + equals + 1 + (line.slice(equals + 1).length - line.slice(equals + 1).trimStart().length);
    at = end + 1;
    if (key === '' || line.trimStart().startsWith('#')) continue;
    const quote = lines[from] ?? '';
    const closed = '"\'`'.includes(quote) && quote !== '' ? lines.indexOf(quote, from + 1) : -1;
    if (closed > 0) {
      const value = lines.slice(from + 1, closed);
      values[key] = quote === '"' ? value.replaceAll('\\n', '\n') : value;
      const next = lines.indexOf('\n', closed);
      at = next < 0 ? lines.length : next + 1;
    } else values[key] = (lines.slice(from, end).split('#')[0] as string).trim();
  }
  return values;
}

function getCallSites(count: number | object = 10, options?: object): object[] {
  if (options !== undefined) validateObject(options, 'options');
  const frames = typeof count === 'object' ? 10 : count;
  if (typeof count === 'object') validateObject(count, 'options');
  validateInteger(frames, 'frameCount', 1, 200);
  const { prepareStackTrace, stackTraceLimit } = Error;
  const place = {} as { stack: NodeJS.CallSite[] };
  try {
    Error.stackTraceLimit = frames;
    Error.prepareStackTrace = (_, sites) => sites;
    Error.captureStackTrace(place, getCallSites);
    return place.stack.map((site) => ({
      functionName: site.getFunctionName() ?? '',
      scriptId: '0',
      scriptName: site.getFileName() ?? '',
      lineNumber: site.getLineNumber(),
      columnNumber: site.getColumnNumber(),
      column: site.getColumnNumber(),
    }));
  } finally {
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}

function _errnoException(errno: number, syscall: string, original?: string): Error {
  const code = getSystemErrorName(errno);
  const message = original ? `${syscall} ${code} ${original}` : `${syscall} ${code}`;
  return Object.assign(new Error(message), { errno, code, syscall });
}
function _exceptionWithHostPort(errno: number, syscall: string, address: string, port?: number): Error {
  const place = port !== undefined && port > 0 ? `${address}:${port}` : address;
  return Object.assign(_errnoException(errno, syscall, place), { address }, port ? { port } : {});
}

function convertProcessSignalToExitCode(signal: string): number {
  validateOneOf(signal, 'signalCode', Object.keys(signals));
  return 128 + (signals[signal] as number);
}

function markPromiseAsHandled(promise: Promise<unknown>): void {
  if (!types.isPromise(promise)) throw invalidArgType('promise', 'Promise', promise);
  promise.then(undefined, () => {});
}

const throwing =
  (name: string): (() => never) =>
  () => {
    throw unavailable(`util.${name}`);
  };
const debounce = /* @__PURE__ */ throwing('debounce');
const throttle = /* @__PURE__ */ throwing('throttle');
const setTraceSigInt = /* @__PURE__ */ throwing('setTraceSigInt');

function stripVTControlCharacters(text: string): string {
  validateString(text, 'str');
  return withoutCodes(text);
}
const toUSVString = (text: unknown): string => `${text as string}`.toWellFormed();

type Class = new () => object;
const platform = globalThis as unknown as Record<'AbortController' | 'TextDecoder' | 'TextEncoder', Class>;
const transferableAbortController = (): object => new platform.AbortController();
const TextDecoder: Class = platform.TextDecoder;
const TextEncoder: Class = platform.TextEncoder;
const isArray: (value: unknown) => boolean = Array.isArray;

const util = /* @__PURE__ */ named({
  _errnoException,
  _exceptionWithHostPort,
  callbackify,
  convertProcessSignalToExitCode,
  debug: debuglog,
  debuglog,
  deprecate,
  format,
  styleText,
  formatWithOptions,
  getCallSites,
  getSystemErrorMap,
  getSystemErrorName,
  getSystemErrorMessage,
  inherits,
  inspect,
  isArray,
  isDeepStrictEqual,
  markPromiseAsHandled,
  promisify,
  stripVTControlCharacters,
  toUSVString,
  transferableAbortSignal,
  transferableAbortController,
  aborted,
  types,
  parseEnv,
  parseArgs,
  TextDecoder,
  TextEncoder,
  MIMEType,
  MIMEParams,
  diff,
  debounce,
  throttle,
  setTraceSigInt,
  _extend: old._extend,
  isBoolean: old.isBoolean,
  isBuffer: old.isBuffer,
  isDate: old.isDate,
  isError: old.isError,
  isFunction: old.isFunction,
  isNull: old.isNull,
  isNullOrUndefined: old.isNullOrUndefined,
  isNumber: old.isNumber,
  isObject: old.isObject,
  isPrimitive: old.isPrimitive,
  isRegExp: old.isRegExp,
  isString: old.isString,
  isSymbol: old.isSymbol,
  isUndefined: old.isUndefined,
  log: old.log,
});

export * from './util-old.ts';
export {
  _errnoException,
  _exceptionWithHostPort,
  aborted,
  callbackify,
  convertProcessSignalToExitCode,
  debounce,
  debuglog as debug,
  debuglog,
  deprecate,
  diff,
  format,
  formatWithOptions,
  getCallSites,
  getSystemErrorMap,
  getSystemErrorMessage,
  getSystemErrorName,
  inherits,
  inspect,
  isArray,
  isDeepStrictEqual,
  MIMEParams,
  MIMEType,
  markPromiseAsHandled,
  parseArgs,
  parseEnv,
  promisify,
  setTraceSigInt,
  stripVTControlCharacters,
  styleText,
  TextDecoder,
  TextEncoder,
  throttle,
  toUSVString,
  transferableAbortController,
  transferableAbortSignal,
  types,
};
export default util;
