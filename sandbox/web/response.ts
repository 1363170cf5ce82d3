/**
 * Response (https://fetch.spec.whatwg.org/#response-class), and the way an answer leaves the isolate.
 *
 * Everything a response is lives in private fields and is primitive or ours, so that `takeResponse` reads nothing a
 * tenant could have replaced. The Headers object is made only when somebody asks for it.
 */

import type { Blob } from './blob.ts';
import {
  addContentType,
  type Body,
  cloneBody,
  extractBody,
  ownedSource,
  readArrayBuffer,
  readBlob,
  readBytes,
  readFormData,
  readJson,
  readText,
} from './body.ts';
import type { Bytes } from './bytes.ts';
import type { FormData } from './form-data.ts';
import { appendHeader, appendTrusted, copyHeaders, flatText, HeaderList, hasHeader } from './header-list.ts';
import { fillHeaders, type Headers, headersOver } from './headers.ts';
import { jsonStringify, regExpExec, typedArrayBuffer } from './primordials.ts';
import { normalizeUrl } from './url-record.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toByteString,
  toDictionary,
  toUSVString,
} from './web-idl.ts';

/** RFC 9112, section 4: what a status line can carry. */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]*$/;

const isNullBodyStatus = (status: number): boolean => status === 204 || status === 205 || status === 304;
const isRedirectStatus = (status: number): boolean =>
  status === 301 || status === 302 || status === 303 || status === 307 || status === 308;

/** An answer as it leaves the isolate. */
export interface TakenResponse {
  readonly status: number;
  /** `name\nvalue\nname\nvalue…`, lower-case names, in the order of insertion; empty for none. */
  readonly headers: string;
  /** A string where the response was made from one; else a buffer that nobody else holds; undefined for no body. */
  readonly body: string | ArrayBuffer | undefined;
}

/**
 * Takes a response out of the tenant's hands: its body counts as used from here on.
 *
 * @returns undefined where `value` is not a Response of this isolate, or its body was used before.
 * @throws TypeError for `Response.error()` and for a header value that HTTP cannot carry.
 */
export let takeResponse: (value: unknown) => TakenResponse | undefined;

export class Response {
  #status = 200;
  #statusText = '';
  #type: 'default' | 'error' = 'default';
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
      if (body?.used) return undefined;
      const headers = flatText(response.#list);
      if (body === undefined) return { status: response.#status, headers, body: undefined };
      body.used = true;
      const source = ownedSource(body);
      return {
        status: response.#status,
        headers,
        body: typeof source === 'string' ? source : typedArrayBuffer(source),
      };
    };
  }

  constructor(body: unknown = null, init: unknown = undefined) {
    const extracted = body === null || body === undefined ? undefined : extractBody(body);
    this.#initialize(init, extracted);
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
    const text = jsonStringify(data) as string | undefined;
    if (text === undefined) throw new TypeError('Response.json: the value has no JSON form');
    const response = new Response();
    response.#initialize(init, extractBody(text));
    if (!hasHeader(response.#list, 'content-type'))
      appendTrusted(response.#list, 'content-type', 'application/json');
    return response;
  }

  /** A redirect to an absolute URL: there is no page here that a relative one could refer to. */
  static redirect(url: unknown, status: unknown = 302): Response {
    requireArguments(arguments.length, 1, 'Response.redirect');
    const location = normalizeUrl(toUSVString(url));
    if (location === undefined) throw new TypeError('Response.redirect: parameter 1 is not an absolute URL');
    const code = toUnsignedShort(status);
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

  /** Empty: a response made by a script has no URL. */
  get url(): string {
    void this.#status;
    return '';
  }

  get redirected(): boolean {
    void this.#status;
    return false;
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

  get bodyUsed(): boolean {
    return this.#body?.used ?? false;
  }

  clone(): Response {
    const body = this.#body;
    if (body?.used) throw new TypeError('Response.clone: the body has already been used');
    const clone = new Response();
    clone.#status = this.#status;
    clone.#statusText = this.#statusText;
    clone.#type = this.#type;
    clone.#list = copyHeaders(this.#list);
    clone.#list.immutable = this.#list.immutable;
    clone.#body = body && cloneBody(body);
    return clone;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return readArrayBuffer(this.#body);
  }

  async blob(): Promise<Blob> {
    return readBlob(this.#body, this.#list);
  }

  async bytes(): Promise<Bytes> {
    return readBytes(this.#body);
  }

  async formData(): Promise<FormData> {
    return readFormData(this.#body, this.#list);
  }

  async json(): Promise<unknown> {
    return readJson(this.#body);
  }

  async text(): Promise<string> {
    return readText(this.#body);
  }

  /** "Initialize a response". */
  #initialize(init: unknown, body: Body | undefined): void {
    if (init !== undefined) {
      const { headers, status, statusText } = toDictionary(init, 'Response: parameter 2');
      if (status !== undefined) {
        this.#status = toUnsignedShort(status);
        if (this.#status < 200 || this.#status > 599) {
          throw new RangeError(`Response: the status ${this.#status} is not between 200 and 599`);
        }
      }
      if (statusText !== undefined) {
        this.#statusText = toByteString(statusText, 'Response: statusText');
        if (regExpExec(REASON_PHRASE, this.#statusText) === null)
          throw new TypeError('Response: invalid statusText');
      }
      if (headers !== undefined) fillHeaders(this.#list, headers);
    }
    if (body === undefined) return;
    if (isNullBodyStatus(this.#status))
      throw new TypeError(`Response: status ${this.#status} allows no body`);
    this.#body = body;
  }
}
defineInterface(Response, 'Response');

/** Web IDL `unsigned short`: modulo 2^16. */
const toUnsignedShort = (value: unknown): number =>
  (typeof value === 'number' ? value : Number(value)) & 0xffff;
