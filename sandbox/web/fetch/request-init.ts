/**
 * RequestInit (https://fetch.spec.whatwg.org/#requestinit): the conversion of its members, in the
 * order of Web IDL, and the checks that the constructor of Request makes of them.
 */
import type { AbortSignal } from '../events/abort.ts';
import { abort } from '../lazy.ts';
import { regExpExec, slice, toUpperCase } from '../primordials.ts';
import { normalizeUrl } from '../url/url-record.ts';
import { toByteString, toDictionary, toDOMString, toUSVString } from '../web-idl.ts';
import { type Body, extractBody } from './body.ts';
import { HeaderList } from './header-list.ts';
import { convertHeaders } from './headers.ts';

/** A token of RFC 9110, section 5.6.2: what a method may have. */
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NORMALIZED_METHOD = /^(?:DELETE|GET|HEAD|OPTIONS|POST|PUT)$/i;
const FORBIDDEN_METHOD = /^(?:CONNECT|TRACE|TRACK)$/i;
const SIMPLE_METHOD = /^(?:GET|HEAD|POST)$/;

const CACHE = /^(?:default|force-cache|no-cache|no-store|only-if-cached|reload)$/;
const CREDENTIALS = /^(?:include|omit|same-origin)$/;
const DUPLEX = /^half$/;
const MODE = /^(?:cors|navigate|no-cors|same-origin)$/;
const PRIORITY = /^(?:auto|high|low)$/;
const REDIRECT = /^(?:error|follow|manual)$/;
const REFERRER_POLICY =
  /^(?:|no-referrer|no-referrer-when-downgrade|origin|origin-when-cross-origin|same-origin|strict-origin|strict-origin-when-cross-origin|unsafe-url)$/;

/** Options of a request besides method, URL, headers, body and signal. */
export interface RequestOptions {
  readonly cache: string;
  readonly credentials: string;
  readonly integrity: string;
  readonly keepalive: boolean;
  readonly mode: string;
  readonly redirect: 'error' | 'follow' | 'manual';
  readonly referrer: string;
  readonly referrerPolicy: string;
}

/** Shared by all requests without options. */
export const DEFAULT_OPTIONS: RequestOptions = {
  cache: 'default',
  credentials: 'same-origin',
  integrity: '',
  keepalive: false,
  mode: 'cors',
  redirect: 'follow',
  referrer: 'about:client',
  referrerPolicy: '',
};

/** A RequestInit after conversion. Absent members are undefined. */
export interface ConvertedInit {
  readonly body: Body | undefined;
  /** The BodyInit from which the body is made. */
  readonly bodyInit: unknown;
  readonly duplex: string | undefined;
  /** Raw: `normalizeHeaders` has not run. */
  readonly headers: HeaderList | undefined;
  readonly method: string | undefined;
  /** Null detaches the request from the signal of the request it is made from. */
  readonly signal: AbortSignal | null | undefined;
  /** Undefined if the init has none of them. */
  readonly options: { readonly [Key in keyof RequestOptions]: RequestOptions[Key] | undefined } | undefined;
  readonly window: unknown;
  /** Whether the init has no member at all. */
  readonly empty: boolean;
}

/** Converts a RequestInit: members are read once, in the order of their names. */
export function convertInit(init: unknown): ConvertedInit {
  const given = toDictionary(init, 'Request: parameter 2');
  const { body: bodyInit } = given;
  const body = bodyInit === undefined || bodyInit === null ? undefined : extractBody(bodyInit);
  const cache = enumeration(given.cache, CACHE, 'cache');
  const credentials = enumeration(given.credentials, CREDENTIALS, 'credentials');
  const duplex = enumeration(given.duplex, DUPLEX, 'duplex');
  const headers = toHeaders(given.headers);
  const integrity = optional(given.integrity, toDOMString);
  const keepalive = optional(given.keepalive, Boolean);
  const method = optional(given.method, (value) => toByteString(value, 'Request: method'));
  const mode = enumeration(given.mode, MODE, 'mode');
  const priority = enumeration(given.priority, PRIORITY, 'priority');
  const redirect = enumeration(given.redirect, REDIRECT, 'redirect') as
    | RequestOptions['redirect']
    | undefined;
  const referrer = optional(given.referrer, toUSVString);
  const referrerPolicy = enumeration(given.referrerPolicy, REFERRER_POLICY, 'referrerPolicy');
  const signal = toSignal(given.signal);
  const { window } = given;
  const steers =
    cache !== undefined ||
    credentials !== undefined ||
    integrity !== undefined ||
    keepalive !== undefined ||
    mode !== undefined ||
    redirect !== undefined ||
    referrer !== undefined ||
    referrerPolicy !== undefined;
  return {
    body,
    bodyInit,
    duplex,
    headers,
    method,
    signal,
    options: steers
      ? { cache, credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy }
      : undefined,
    window,
    empty:
      !steers &&
      bodyInit === undefined &&
      duplex === undefined &&
      headers === undefined &&
      method === undefined &&
      priority === undefined &&
      signal === undefined &&
      window === undefined,
  };
}

/**
 * Merges `init` into the options of the base request, or into the defaults.
 *
 * @throws TypeError for a combination that the standard forbids
 */
export function mergeOptions(base: RequestOptions, init: ConvertedInit): RequestOptions {
  const { window, empty, options } = init;
  if (window !== undefined && window !== null) throw new TypeError('Request: "window" can only be null');
  if (empty || (options === undefined && base === DEFAULT_OPTIONS)) return base;
  const { cache, credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy } =
    options ?? {};
  if (mode === 'navigate') throw new TypeError('Request: the mode "navigate" is not allowed');
  const merged: RequestOptions = {
    cache: cache ?? base.cache,
    credentials: credentials ?? base.credentials,
    integrity: integrity ?? base.integrity,
    keepalive: keepalive ?? base.keepalive,
    mode: mode ?? base.mode,
    redirect: redirect ?? base.redirect,
    referrer: referrer === undefined ? DEFAULT_OPTIONS.referrer : toReferrer(referrer),
    referrerPolicy: referrerPolicy ?? '',
  };
  if (merged.cache === 'only-if-cached' && merged.mode !== 'same-origin')
    throw new TypeError('Request: the cache mode "only-if-cached" asks for the mode "same-origin"');
  return merged;
}

/** An integration has no origin, so no referrer is cross-origin: each is shown as parsed. */
function toReferrer(referrer: string): string {
  if (referrer === '') return '';
  const url = normalizeUrl(referrer);
  if (url === undefined)
    throw new TypeError(`Request: the referrer "${slice(referrer, 0, 64)}" is not an absolute URL`);
  return url.href;
}

/** @throws TypeError if the method is not a token, or is forbidden */
export function checkMethod(method: string): string {
  if (method === 'GET' || method === 'POST') return method;
  if (regExpExec(TOKEN, method) === null || regExpExec(FORBIDDEN_METHOD, method) !== null) {
    throw new TypeError(`Request: the method "${slice(method, 0, 64)}" is not allowed`);
  }
  return regExpExec(NORMALIZED_METHOD, method) === null ? method : toUpperCase(method);
}

/** @throws TypeError if the mode does not allow the method */
export function checkMode(mode: string, method: string): void {
  if (mode === 'no-cors' && regExpExec(SIMPLE_METHOD, method) === null)
    throw new TypeError(`Request: the mode "no-cors" does not allow the method "${slice(method, 0, 64)}"`);
}

/** @throws TypeError unless the text is an absolute URL without credentials */
export function parseUrl(text: string): string {
  const url = normalizeUrl(text);
  if (url === undefined) throw new TypeError(`Request: "${slice(text, 0, 64)}" is not an absolute URL`);
  if (url.credentials)
    throw new TypeError('Request: the URL holds credentials; send an Authorization header');
  return url.href;
}

function enumeration(value: unknown, values: RegExp, name: string): string | undefined {
  if (value === undefined) return undefined;
  const text = toDOMString(value);
  if (regExpExec(values, text) === null)
    throw new TypeError(`Request: "${slice(text, 0, 64)}" is not a valid value of "${name}"`);
  return text;
}

const optional = <T>(value: unknown, convert: (value: unknown) => T): T | undefined =>
  value === undefined ? undefined : convert(value);

function toHeaders(value: unknown): HeaderList | undefined {
  if (value === undefined) return undefined;
  const list = new HeaderList();
  convertHeaders(list, value);
  return list;
}

function toSignal(value: unknown): AbortSignal | null | undefined {
  if (value === undefined || value === null) return value;
  if (!abort().isAbortSignal(value)) throw new TypeError('Request: "signal" is not an AbortSignal');
  return value;
}
