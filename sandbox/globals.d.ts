/**
 * The globals of an isolate, for the type checker: exactly those that `web/globals.ts` installs
 * (docs/web-platform.md). Code of the sandbox and of integrations is checked without DOM and Node
 * types, so that use of an absent global does not compile.
 */

type BufferSource = ArrayBuffer | ArrayBufferView;
type BodyInit = string | BufferSource | Blob | FormData | ReadableStream | URLSearchParams;
type HeadersInit = Headers | Iterable<readonly [string, string]> | Record<string, string>;
type FormDataEntryValue = string | File;
type BlobPart = BufferSource | Blob | string;

declare class Headers {
  constructor(init?: HeadersInit);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

/** Members of Request and Response. */
interface BodyMixin {
  /** Byte stream of the body, made at the first read; null if there is no body. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  formData(): Promise<FormData>;
  json<T = unknown>(): Promise<T>;
  text(): Promise<string>;
  textStream(): ReadableStream<string>;
}

type RequestCache = 'default' | 'force-cache' | 'no-cache' | 'no-store' | 'only-if-cached' | 'reload';
type RequestCredentials = 'include' | 'omit' | 'same-origin';
type RequestMode = 'cors' | 'navigate' | 'no-cors' | 'same-origin';
type RequestRedirect = 'error' | 'follow' | 'manual';
type ReferrerPolicy =
  | ''
  | 'no-referrer'
  | 'no-referrer-when-downgrade'
  | 'origin'
  | 'origin-when-cross-origin'
  | 'same-origin'
  | 'strict-origin'
  | 'strict-origin-when-cross-origin'
  | 'unsafe-url';

/**
 * Options for browsers (`cache`, `credentials`, `mode`, `referrer`, …) are checked and kept,
 * without effect.
 */
interface RequestInit {
  body?: BodyInit | null;
  cache?: RequestCache;
  credentials?: RequestCredentials;
  /** Required if the body is a stream. */
  duplex?: 'half';
  headers?: HeadersInit;
  integrity?: string;
  keepalive?: boolean;
  method?: string;
  mode?: RequestMode;
  priority?: 'auto' | 'high' | 'low';
  redirect?: RequestRedirect;
  referrer?: string;
  referrerPolicy?: ReferrerPolicy;
  signal?: AbortSignal | null;
  window?: null;
}

declare class Request {
  /** @param input an absolute URL, or a request to copy */
  constructor(input: Request | URL | string, init?: RequestInit);
  readonly cache: RequestCache;
  readonly credentials: RequestCredentials;
  readonly destination: '';
  readonly duplex: 'half';
  readonly headers: Headers;
  readonly integrity: string;
  readonly isHistoryNavigation: boolean;
  readonly isReloadNavigation: boolean;
  readonly keepalive: boolean;
  readonly method: string;
  readonly mode: RequestMode;
  readonly redirect: RequestRedirect;
  readonly referrer: string;
  readonly referrerPolicy: ReferrerPolicy;
  readonly signal: AbortSignal;
  readonly url: string;
  clone(): Request;
}
interface Request extends BodyMixin {}

interface ResponseInit {
  headers?: HeadersInit;
  status?: number;
  statusText?: string;
}

declare class Response {
  constructor(body?: BodyInit | null, init?: ResponseInit);
  static error(): Response;
  static json(data: unknown, init?: ResponseInit): Response;
  static redirect(url: URL | string, status?: number): Response;
  readonly headers: Headers;
  readonly ok: boolean;
  readonly redirected: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly type: 'basic' | 'default' | 'error' | 'opaqueredirect';
  readonly url: string;
  clone(): Response;
}
interface Response extends BodyMixin {}

interface BlobPropertyBag {
  endings?: 'native' | 'transparent';
  type?: string;
}

declare class Blob {
  constructor(parts?: Iterable<BlobPart>, options?: BlobPropertyBag);
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  slice(start?: number, end?: number, contentType?: string): Blob;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  text(): Promise<string>;
  textStream(): ReadableStream<string>;
}

declare class File extends Blob {
  constructor(parts: Iterable<BlobPart>, name: string, options?: BlobPropertyBag & { lastModified?: number });
  readonly lastModified: number;
  readonly name: string;
}

declare class FormData {
  append(name: string, value: string): void;
  append(name: string, value: Blob, filename?: string): void;
  delete(name: string): void;
  get(name: string): FormDataEntryValue | null;
  getAll(name: string): FormDataEntryValue[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  set(name: string, value: Blob, filename?: string): void;
  entries(): IterableIterator<[string, FormDataEntryValue]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<FormDataEntryValue>;
  forEach(
    callback: (value: FormDataEntryValue, name: string, form: FormData) => void,
    thisArg?: unknown,
  ): void;
  [Symbol.iterator](): IterableIterator<[string, FormDataEntryValue]>;
}

declare class URL {
  constructor(url: URL | string, base?: URL | string);
  static canParse(url: URL | string, base?: URL | string): boolean;
  static parse(url: URL | string, base?: URL | string): URL | null;
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toJSON(): string;
  toString(): string;
}

declare class URLSearchParams {
  constructor(init?: Iterable<readonly [string, string]> | Record<string, string> | string);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, thisArg?: unknown): void;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

interface URLPatternInit {
  baseURL?: string;
  hash?: string;
  hostname?: string;
  password?: string;
  pathname?: string;
  port?: string;
  protocol?: string;
  search?: string;
  username?: string;
}

interface URLPatternComponentResult {
  groups: Record<string, string | undefined>;
  input: string;
}

interface URLPatternResult {
  hash: URLPatternComponentResult;
  hostname: URLPatternComponentResult;
  inputs: [URLPatternInit | string, string?];
  password: URLPatternComponentResult;
  pathname: URLPatternComponentResult;
  port: URLPatternComponentResult;
  protocol: URLPatternComponentResult;
  search: URLPatternComponentResult;
  username: URLPatternComponentResult;
}

interface URLPatternOptions {
  /** Whether path, search and hash match case-insensitively. */
  ignoreCase?: boolean;
}

declare class URLPattern {
  constructor(input: URLPatternInit | URL | string, baseURL: URL | string, options?: URLPatternOptions);
  constructor(input?: URLPatternInit | URL | string, options?: URLPatternOptions);
  readonly hasRegExpGroups: boolean;
  readonly hash: string;
  readonly hostname: string;
  readonly password: string;
  readonly pathname: string;
  readonly port: string;
  readonly protocol: string;
  readonly search: string;
  readonly username: string;
  exec(input?: URLPatternInit | URL | string, baseURL?: URL | string): URLPatternResult | null;
  test(input?: URLPatternInit | URL | string, baseURL?: URL | string): boolean;
}

declare class TextEncoder {
  readonly encoding: 'utf-8';
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: BufferSource, options?: { stream?: boolean }): string;
}

/** A clock in whole milliseconds that never goes backwards. */
declare class Performance extends EventTarget {
  private constructor();
  readonly timeOrigin: number;
  clearMarks(name?: string): void;
  clearMeasures(name?: string): void;
  /** The last 1,000 entries that are not cleared, of all calls of the isolate. */
  clearResourceTimings(): void;
  setResourceTimingBufferSize(maxSize: number): void;
  getEntries(): PerformanceEntry[];
  getEntriesByName(name: string, type?: string): PerformanceEntry[];
  getEntriesByType(type: string): PerformanceEntry[];
  mark(name: string, options?: { detail?: unknown; startTime?: number }): PerformanceMark;
  measure(name: string, options?: PerformanceMeasureOptions | string, endMark?: string): PerformanceMeasure;
  now(): number;
  toJSON(): { timeOrigin: number };
}

declare class DOMException extends Error {
  constructor(message?: string, options?: string | { cause?: unknown; name?: string });
  override readonly cause: unknown;
  readonly code: number;
  readonly message: string;
  readonly name: string;
}

interface Console {
  assert(condition?: unknown, ...data: unknown[]): void;
  clear(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  debug(...data: unknown[]): void;
  dir(item?: unknown, options?: { depth?: number }): void;
  dirxml(...data: unknown[]): void;
  error(...data: unknown[]): void;
  group(...data: unknown[]): void;
  groupCollapsed(...data: unknown[]): void;
  groupEnd(): void;
  info(...data: unknown[]): void;
  log(...data: unknown[]): void;
  table(data?: unknown): void;
  time(label?: string): void;
  timeEnd(label?: string): void;
  timeLog(label?: string, ...data: unknown[]): void;
  trace(...data: unknown[]): void;
  warn(...data: unknown[]): void;
}

declare class Navigator {
  private constructor();
  readonly userAgent: 'Annex';
}

declare var console: Console;
declare var navigator: Navigator;
declare var self: typeof globalThis;
declare function atob(data: string): string;
declare function btoa(data: string): string;
/**
 * Only within a call. A refusal by the platform and a network failure are a `TypeError`
 * (docs/contract/runtime.md#outbound-fetch).
 */
declare function fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
declare function queueMicrotask(callback: () => void): void;
/**
 * Reports an exception as uncaught: to the listeners of `error` at the global scope, and to the
 * log.
 */
declare function reportError(exception: unknown): void;
declare function addEventListener(
  type: 'error',
  listener: EventListener<ErrorEvent> | null,
  options?: AddEventListenerOptions | boolean,
): void;
declare function addEventListener(
  type: string,
  listener: EventListener | null,
  options?: AddEventListenerOptions | boolean,
): void;
declare function removeEventListener(
  type: string,
  listener: EventListener<ErrorEvent> | EventListener | null,
  options?: { capture?: boolean } | boolean,
): void;
declare function dispatchEvent(event: Event): boolean;
/** Listener for uncaught exceptions; if it returns true, the exception is not logged. */
declare var onerror:
  | ((message: string, filename: string, lineno: number, colno: number, error: unknown) => unknown)
  | null;
declare var performance: Performance;
/** A timer belongs to the call that set it, and ends with it. Delays in milliseconds. */
declare function setTimeout<A extends unknown[]>(
  handler: (...parameters: A) => void,
  timeout?: number,
  ...parameters: A
): number;
declare function setInterval<A extends unknown[]>(
  handler: (...parameters: A) => void,
  timeout?: number,
  ...parameters: A
): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
/** Copies a value; objects in `transfer` are moved into the copy. */
declare function structuredClone<T>(
  value: T,
  options?: { transfer?: Iterable<ArrayBuffer | MessagePort> },
): T;
