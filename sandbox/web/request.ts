/**
 * Request (https://fetch.spec.whatwg.org/#request-class), and the way a call of the host becomes one.
 *
 * A server's request: method, URL, headers, body, redirect mode. What only steers a browser (mode, credentials, cache,
 * referrer, …) is neither stored nor shown. URLs must be absolute: there is no page to resolve against.
 */

import type { Blob } from './blob.ts';
import {
  addContentType,
  Body,
  cloneBody,
  extractBody,
  FormSource,
  readArrayBuffer,
  readBlob,
  readBytes,
  readFormData,
  readJson,
  readText,
  transferBody,
} from './body.ts';
import type { Bytes } from './bytes.ts';
import type { FormData } from './form-data.ts';
import { appendHeader, copyHeaders, HeaderList } from './header-list.ts';
import { fillHeaders, type Headers, headersOver } from './headers.ts';
import { isArray, regExpExec, toUpperCase, Uint8ArrayIntrinsic } from './primordials.ts';
import { normalizeUrl } from './url-record.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toByteString,
  toDictionary,
  toDOMString,
  toUSVString,
} from './web-idl.ts';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NORMALIZED_METHOD = /^(?:DELETE|GET|HEAD|OPTIONS|POST|PUT)$/i;
const FORBIDDEN_METHOD = /^(?:CONNECT|TRACE|TRACK)$/i;
const REDIRECT_MODE = /^(?:follow|error|manual)$/;

/** What the host says about a call. All of it was checked outside. */
export interface RequestParts {
  /** Upper case. */
  readonly method: string;
  /** Absolute and serialised. */
  readonly url: string;
  /** Record, or name, value, name, value, … */
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  /** Belongs to the request from now on. A string stands for its UTF-8 bytes and is read without decoding. */
  readonly body?: ArrayBuffer | string | undefined;
  /**
   * Answers `formData()` directly. Whoever asks for the bytes instead gets the same form as multipart, under the
   * boundary that the Content-Type header names from the start.
   */
  readonly formData?: (() => FormData) | undefined;
}

/** Makes the request of a call without parsing its URL or touching its body. */
export let makeRequest: (parts: RequestParts) => Request;

/** Marks a call of the constructor from inside. */
const INSIDE = Symbol();

export class Request {
  #method = 'GET';
  #url = '';
  #redirect = 'follow';
  #list: HeaderList;
  #headers: Headers | undefined;
  #body: Body | undefined;

  static {
    makeRequest = ({ method, url, headers, body, formData }) => {
      const request = new Request(INSIDE);
      request.#method = method;
      request.#url = url;
      const list = request.#list;
      if (isArray(headers)) {
        for (let i = 0; i < headers.length; i += 2)
          appendHeader(list, headers[i] as string, headers[i + 1] as string);
      } else {
        fillHeaders(list, headers);
      }
      if (formData !== undefined) {
        const source = new FormSource(formData, true);
        request.#body = new Body(source);
        addContentType(list, undefined, request.#body);
      } else if (body !== undefined) {
        request.#body = new Body(typeof body === 'string' ? body : new Uint8ArrayIntrinsic(body));
      }
      return request;
    };
  }

  constructor(input: unknown, init: unknown = undefined) {
    if (input === INSIDE) {
      this.#list = new HeaderList();
      return;
    }
    requireArguments(arguments.length, 1, 'Request');
    const from = isObject(input) && #method in input ? (input as Request) : undefined;
    if (from === undefined) this.#url = urlOf(input);
    else {
      this.#url = from.#url;
      this.#method = from.#method;
      this.#redirect = from.#redirect;
    }
    const { body, headers, method, redirect } = toDictionary(init, 'Request: parameter 2');
    if (method !== undefined) this.#method = methodOf(method);
    if (redirect !== undefined) this.#redirect = redirectOf(redirect);
    if (headers === undefined && from !== undefined) this.#list = copyHeaders(from.#list);
    else this.#list = new HeaderList();
    if (headers !== undefined) fillHeaders(this.#list, headers);

    const given = body !== undefined && body !== null;
    const inherited = given || from === undefined ? undefined : from.#body;
    if ((given || inherited !== undefined) && (this.#method === 'GET' || this.#method === 'HEAD')) {
      throw new TypeError(`Request: a ${this.#method} request has no body`);
    }
    if (given) {
      const extracted = extractBody(body);
      this.#body = extracted;
      addContentType(this.#list, body, extracted);
    } else if (inherited !== undefined) {
      if (inherited.used) throw new TypeError('Request: the body of the given request has already been used');
      this.#body = transferBody(inherited);
    }
  }

  get method(): string {
    return this.#method;
  }

  get url(): string {
    return this.#url;
  }

  get headers(): Headers {
    this.#headers ??= headersOver(this.#list);
    return this.#headers;
  }

  get redirect(): string {
    return this.#redirect;
  }

  get bodyUsed(): boolean {
    return this.#body?.used ?? false;
  }

  clone(): Request {
    const body = this.#body;
    if (body?.used) throw new TypeError('Request.clone: the body has already been used');
    const clone = new Request(INSIDE);
    clone.#method = this.#method;
    clone.#url = this.#url;
    clone.#redirect = this.#redirect;
    clone.#list = copyHeaders(this.#list);
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
}
defineInterface(Request, 'Request');

function urlOf(input: unknown): string {
  const text = toUSVString(input);
  const url = normalizeUrl(text);
  if (url === undefined) throw new TypeError(`Request: "${text.slice(0, 64)}" is not an absolute URL`);
  if (url.credentials)
    throw new TypeError('Request: the URL holds credentials; send an Authorization header');
  return url.href;
}

function methodOf(value: unknown): string {
  const method = toByteString(value, 'Request: method');
  if (method === 'GET' || method === 'POST') return method;
  if (regExpExec(TOKEN, method) === null || regExpExec(FORBIDDEN_METHOD, method) !== null) {
    throw new TypeError(`Request: the method "${method.slice(0, 64)}" is not allowed`);
  }
  return regExpExec(NORMALIZED_METHOD, method) === null ? method : toUpperCase(method);
}

function redirectOf(value: unknown): string {
  const redirect = toDOMString(value);
  if (regExpExec(REDIRECT_MODE, redirect) === null) {
    throw new TypeError(`Request: "${redirect.slice(0, 64)}" is not a valid value of "redirect"`);
  }
  return redirect;
}
