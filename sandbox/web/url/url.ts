/**
 * URL (https://url.spec.whatwg.org/#url-class): the interface; `url-record.ts` and `url-machine.ts`
 * do the work.
 */

import { coded, defineInterface, requireArguments, toUSVString } from '../web-idl.ts';
import { type UrlRecord, urlMachine } from './url-machine.ts';
import {
  cannotHaveCredentialsOrPort,
  hasOpaquePath,
  parseRecord,
  serializeHost,
  serializeHostAndPort,
  serializeOrigin,
  serializePath,
  serializeRecord,
} from './url-record.ts';
import { paramsOver, resetParams, type URLSearchParams } from './url-search-params.ts';

/** Marks a constructor call of the prelude. */
class Parsed {
  readonly record: UrlRecord;
  constructor(record: UrlRecord) {
    this.record = record;
  }
}

function invalidUrl(input: string): TypeError {
  const error = new TypeError(`Invalid URL: ${input.slice(0, 128)}`);
  return Object.assign(coded(error, 'ERR_INVALID_URL'), { input });
}

export class URL {
  #url: UrlRecord;
  /** Made at first use. */
  #searchParams: URLSearchParams | undefined;

  constructor(url: unknown, base: unknown = undefined) {
    if (typeof url === 'object' && url instanceof Parsed) {
      this.#url = url.record;
      return;
    }
    requireArguments(arguments.length, 1, 'URL');
    const text = toUSVString(url);
    const record = parseRecord(text, base === undefined ? undefined : toUSVString(base));
    if (record === null) throw invalidUrl(text);
    this.#url = record;
  }

  static parse(url: unknown, base: unknown = undefined): URL | null {
    requireArguments(arguments.length, 1, 'URL.parse');
    const record = parseRecord(toUSVString(url), base === undefined ? undefined : toUSVString(base));
    return record === null ? null : new URL(new Parsed(record));
  }

  static canParse(url: unknown, base: unknown = undefined): boolean {
    requireArguments(arguments.length, 1, 'URL.canParse');
    return parseRecord(toUSVString(url), base === undefined ? undefined : toUSVString(base)) !== null;
  }

  get href(): string {
    return serializeRecord(this.#url);
  }

  set href(value: unknown) {
    const text = toUSVString(value);
    const record = parseRecord(text, undefined);
    if (record === null) throw invalidUrl(text);
    this.#url = record;
    this.#resetParams();
  }

  get origin(): string {
    return serializeOrigin(this.#url);
  }

  get protocol(): string {
    return `${this.#url.scheme}:`;
  }

  set protocol(value: unknown) {
    this.#override(`${toUSVString(value)}:`, 'scheme start');
  }

  get username(): string {
    return this.#url.username;
  }

  set username(value: unknown) {
    const text = toUSVString(value);
    if (!cannotHaveCredentialsOrPort(this.#url)) urlMachine().setTheUsername(this.#url, text);
  }

  get password(): string {
    return this.#url.password;
  }

  set password(value: unknown) {
    const text = toUSVString(value);
    if (!cannotHaveCredentialsOrPort(this.#url)) urlMachine().setThePassword(this.#url, text);
  }

  get host(): string {
    return serializeHostAndPort(this.#url);
  }

  set host(value: unknown) {
    const text = toUSVString(value);
    if (!hasOpaquePath(this.#url)) this.#override(text, 'host');
  }

  get hostname(): string {
    return serializeHost(this.#url);
  }

  set hostname(value: unknown) {
    const text = toUSVString(value);
    if (!hasOpaquePath(this.#url)) this.#override(text, 'hostname');
  }

  get port(): string {
    return this.#url.port === null ? '' : `${this.#url.port}`;
  }

  set port(value: unknown) {
    const text = toUSVString(value);
    if (cannotHaveCredentialsOrPort(this.#url)) return;
    if (text === '') this.#url.port = null;
    else this.#override(text, 'port');
  }

  get pathname(): string {
    return serializePath(this.#url);
  }

  set pathname(value: unknown) {
    const text = toUSVString(value);
    if (hasOpaquePath(this.#url)) return;
    this.#url.path = [];
    this.#override(text, 'path start');
  }

  get search(): string {
    return this.#url.query ? `?${this.#url.query}` : '';
  }

  set search(value: unknown) {
    const text = toUSVString(value);
    this.#url.query = text === '' ? null : '';
    if (text !== '') this.#override(text.startsWith('?') ? text.slice(1) : text, 'query');
    this.#resetParams();
  }

  get searchParams(): URLSearchParams {
    this.#searchParams ??= paramsOver(this.#url.query ?? '', (query) => {
      this.#url.query = query;
    });
    return this.#searchParams;
  }

  get hash(): string {
    return this.#url.fragment ? `#${this.#url.fragment}` : '';
  }

  set hash(value: unknown) {
    const text = toUSVString(value);
    this.#url.fragment = text === '' ? null : '';
    if (text !== '') this.#override(text.startsWith('#') ? text.slice(1) : text, 'fragment');
  }

  toJSON(): string {
    return serializeRecord(this.#url);
  }

  toString(): string {
    return serializeRecord(this.#url);
  }

  /** Parses into this URL from a given state on; invalid input changes nothing. */
  #override(input: string, stateOverride: string): void {
    urlMachine().basicURLParse(input, { url: this.#url, stateOverride });
  }

  #resetParams(): void {
    if (this.#searchParams !== undefined) resetParams(this.#searchParams, this.#url.query ?? '');
  }
}
defineInterface(URL, 'URL');
