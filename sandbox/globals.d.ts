/**
 * The globals of an isolate, for the type checker: what `web/globals.ts` installs, and nothing more. Code of the
 * sandbox and of integrations sees these and no DOM and no Node types, so that what is not there does not compile.
 */

type BufferSource = ArrayBuffer | ArrayBufferView;
type BodyInit = string | BufferSource | Blob | FormData | URLSearchParams;
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

/** Methods that a Request and a Response share. */
interface BodyMixin {
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  formData(): Promise<FormData>;
  json<T = unknown>(): Promise<T>;
  text(): Promise<string>;
}

interface RequestInit {
  body?: BodyInit | null;
  headers?: HeadersInit;
  method?: string;
  redirect?: 'follow' | 'error' | 'manual';
}

declare class Request {
  constructor(input: Request | URL | string, init?: RequestInit);
  readonly headers: Headers;
  readonly method: string;
  readonly redirect: 'follow' | 'error' | 'manual';
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
  readonly type: 'default' | 'error';
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
  text(): Promise<string>;
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

declare class DOMException extends Error {
  constructor(message?: string, name?: string);
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
declare function queueMicrotask(callback: () => void): void;
