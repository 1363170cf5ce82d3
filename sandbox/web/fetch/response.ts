/**
 * Response (https://fetch.spec.whatwg.org/#response-class), and the conversions of a Response into
 * an answer, and of a fetch's answer into a Response.
 *
 * The state of a response is in private fields, primitive or made by the prelude, so that
 * `takeResponse` reads nothing that a tenant could have replaced. The Headers object is made at the
 * first read of `headers`.
 */

import { indexOf, jsonStringify, regExpExec, slice, Uint8ArrayIntrinsic } from '../primordials.ts';
import { type ByteSource, isByteSource } from '../streams/byte-source.ts';
import { normalizeUrl } from '../url/url-record.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toByteString,
  toDictionary,
  toUSVString,
} from '../web-idl.ts';
import {
  addContentType,
  Body,
  cloneBody,
  extractBody,
  isUnusable,
  requireFreshStream,
  takeBody,
} from './body.ts';
import { type BodyMixin, mixInBody } from './body-mixin.ts';
import {
  appendHeader,
  appendTrusted,
  copyHeaders,
  flatText,
  HeaderList,
  hasHeader,
  headersFromText,
  normalizeHeaders,
} from './header-list.ts';
import { convertHeaders, type Headers, headersOver } from './headers.ts';

/** RFC 9112, section 4: what a status line can carry. */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]*$/;

export const isNullBodyStatus = (status: number): boolean =>
  status === 204 || status === 205 || status === 304;
const isRedirectStatus = (status: number): boolean =>
  status === 301 || status === 302 || status === 303 || status === 307 || status === 308;

export type ResponseType = 'basic' | 'default' | 'error' | 'opaqueredirect';

/** An answer as it leaves the isolate. */
export interface TakenResponse {
  readonly status: number;
  /** Undefined for none. */
  readonly statusText: string | undefined;
  /** `name\nvalue\nname\nvalue…`, lower-case names, in the order of insertion; empty for none. */
  readonly headers: string;
  /**
   * A string if the response was made from one; a source if bytes follow; otherwise a buffer that
   * no other code holds; undefined for no body.
   */
  readonly body: string | ArrayBuffer | ByteSource | undefined;
}

/** The parts of a fetch's answer, from the host. */
export interface ResponseParts {
  readonly status: number;
  readonly statusText: string;
  /** As in `TakenResponse`. */
  readonly headers: string;
  /** URL of the answer, after all redirects. */
  readonly url: string;
  readonly redirected: boolean;
  /** Belongs to the response then. */
  readonly body?: ArrayBuffer | ByteSource | undefined;
  readonly type?: ResponseType | undefined;
}

/**
 * Takes a response over from the tenant. Its body counts as used then.
 *
 * @returns undefined if `value` is not a Response of this isolate, or its body was used before
 * @throws TypeError for `Response.error()` and for a header value that HTTP cannot carry.
 */
export let takeResponse: (value: unknown) => TakenResponse | undefined;

/** Makes the response of a fetch. */
export let makeResponse: (parts: ResponseParts) => Response;

export class Response implements BodyMixin {
  declare readonly body: BodyMixin['body'];
  declare readonly bodyUsed: BodyMixin['bodyUsed'];
  declare arrayBuffer: BodyMixin['arrayBuffer'];
  declare blob: BodyMixin['blob'];
  declare bytes: BodyMixin['bytes'];
  declare formData: BodyMixin['formData'];
  declare json: BodyMixin['json'];
  declare text: BodyMixin['text'];
  declare textStream: BodyMixin['textStream'];

  #status = 200;
  #statusText = '';
  #type: ResponseType = 'default';
  #url = '';
  #redirected = false;
  #list = new HeaderList();
  #headers: Headers | undefined;
  #body: Body | undefined;

  static {
    takeResponse = (value) => {
      if (!isObject(value) || !(#status in value)) return undefined;
      const response = value as Response;
      if (response.#type === 'error')
        throw new TypeError('Response.error() is a network error and cannot be sent');
      const body = response.#body;
      if (body !== undefined && isUnusable(body)) return undefined;
      const headers = flatText(response.#list);
      const statusText = response.#statusText || undefined;
      return { status: response.#status, statusText, headers, body: body && takeBody(body) };
    };

    makeResponse = ({ status, statusText, headers, url, redirected, body, type = 'basic' }) => {
      const response = new Response();
      response.#status = status;
      response.#statusText = statusText;
      response.#type = type;
      const fragment = indexOf(url, '#');
      response.#url = fragment < 0 ? url : slice(url, 0, fragment);
      response.#redirected = redirected;
      response.#list = headersFromText(headers);
      response.#list.immutable = true;
      if (body !== undefined)
        response.#body = new Body(isByteSource(body) ? body : new Uint8ArrayIntrinsic(body));
      return response;
    };

    mixInBody(
      Response.prototype,
      (self) => self.#body,
      (self) => self.#list,
    );
  }

  constructor(body: unknown = null, init: unknown = undefined) {
    const extracted = body === null || body === undefined ? undefined : extractBody(body);
    if (init !== undefined) this.#convert(init);
    if (extracted !== undefined) requireFreshStream(extracted);
    this.#initialize(extracted);
    if (extracted !== undefined) addContentType(this.#list, body, extracted);
  }

  /** A network error. */
  static error(): Response {
    const response = new Response();
    response.#status = 0;
    response.#type = 'error';
    response.#list.immutable = true;
    return response;
  }

  /** A response whose body is `data` as JSON. */
  static json(data: unknown, init: unknown = undefined): Response {
    requireArguments(arguments.length, 1, 'Response.json');
    const response = new Response();
    if (init !== undefined) response.#convert(init);
    const text = jsonStringify(data) as string | undefined;
    if (text === undefined) throw new TypeError('Response.json: the value has no JSON form');
    response.#initialize(new Body(text));
    if (!hasHeader(response.#list, 'content-type'))
      appendTrusted(response.#list, 'content-type', 'application/json');
    return response;
  }

  /** A redirect to an absolute URL; there is no page to resolve a relative one against. */
  static redirect(url: unknown, status: unknown = 302): Response {
    requireArguments(arguments.length, 1, 'Response.redirect');
    const text = toUSVString(url);
    const code = toUnsignedShort(status);
    const location = normalizeUrl(text);
    if (location === undefined) throw new TypeError('Response.redirect: parameter 1 is not an absolute URL');
    if (!isRedirectStatus(code)) throw new RangeError(`Response.redirect: ${code} is not a redirect status`);
    const response = new Response();
    response.#status = code;
    appendHeader(response.#list, 'location', location.href);
    response.#list.immutable = true;
    return response;
  }

  get type(): string {
    return this.#type;
  }

  /** Empty for a response that a script made. */
  get url(): string {
    return this.#url;
  }

  get redirected(): boolean {
    return this.#redirected;
  }

  get status(): number {
    return this.#status;
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }

  get statusText(): string {
    return this.#statusText;
  }

  get headers(): Headers {
    this.#headers ??= headersOver(this.#list);
    return this.#headers;
  }

  clone(): Response {
    const body = this.#body;
    if (body !== undefined && isUnusable(body))
      throw new TypeError('Response.clone: the body has already been used, or is locked by a reader');
    const clone = new Response();
    clone.#status = this.#status;
    clone.#statusText = this.#statusText;
    clone.#type = this.#type;
    clone.#url = this.#url;
    clone.#redirected = this.#redirected;
    clone.#list = copyHeaders(this.#list);
    clone.#list.immutable = this.#list.immutable;
    clone.#body = body && cloneBody(body);
    return clone;
  }

  /** Converts the members of a ResponseInit, in the order of their names. */
  #convert(init: unknown): void {
    const members = toDictionary(init, 'Response: parameter 2');
    const { headers } = members;
    if (headers !== undefined) convertHeaders(this.#list, headers);
    const { status } = members;
    if (status !== undefined) this.#status = toUnsignedShort(status);
    const { statusText } = members;
    if (statusText !== undefined) this.#statusText = toByteString(statusText, 'Response: statusText');
  }

  /** "Initialize a response": checks the converted members. */
  #initialize(body: Body | undefined): void {
    const status = this.#status;
    if (status < 200 || status > 599)
      throw new RangeError(`Response: the status ${status} is not between 200 and 599`);
    const statusText = this.#statusText;
    if (statusText !== '' && regExpExec(REASON_PHRASE, statusText) === null)
      throw new TypeError('Response: invalid statusText');
    normalizeHeaders(this.#list);
    if (body === undefined) return;
    if (isNullBodyStatus(status)) throw new TypeError(`Response: status ${status} allows no body`);
    this.#body = body;
  }
}
defineInterface(Response, 'Response');

/** Web IDL `unsigned short`: modulo 2^16. */
const toUnsignedShort = (value: unknown): number => (value as number) & 0xffff;
