/**
 * Request (https://fetch.spec.whatwg.org/#request-class), and the conversions of a call into a
 * Request, and of a Request into an outbound fetch.
 *
 * Options for browsers (mode, credentials, cache, referrer, …) are checked, kept and shown, without
 * effect. URLs must be absolute: there is no page to resolve against. Guards on headers, which
 * protect a browser's user from a page, do not exist: a server sets `Cookie` and `Host`.
 */

import type { AbortSignal } from '../events/abort.ts';
import { abort } from '../lazy.ts';
import { isArray, Uint8ArrayIntrinsic } from '../primordials.ts';
import { type ByteSource, isByteSource } from '../streams/byte-source.ts';
import { defineInterface, isObject, requireArguments, toUSVString } from '../web-idl.ts';
import {
  addContentType,
  Body,
  cloneBody,
  FormSource,
  isUnusable,
  requireFreshStream,
  takeBody,
  transferBody,
} from './body.ts';
import { type BodyMixin, mixInBody } from './body-mixin.ts';
import type { FormData } from './form-data.ts';
import { appendHeader, copyHeaders, flatText, HeaderList, normalizeHeaders } from './header-list.ts';
import { fillHeaders, type Headers, headersOver } from './headers.ts';
import {
  checkMethod,
  checkMode,
  convertInit,
  DEFAULT_OPTIONS,
  mergeOptions,
  parseUrl,
  type RequestOptions,
} from './request-init.ts';

/** The parts of a call's request, checked by the host. */
export interface RequestParts {
  readonly method: string;
  /** Absolute and serialised. */
  readonly url: string;
  /** Record, or list of name, value, name, value, … */
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  /** Belongs to the request then. A string means its UTF-8 bytes, and is read without decoding. */
  readonly body?: ArrayBuffer | string | ByteSource | undefined;
  /**
   * Result of `formData()`. The bytes of the body are the same form as multipart, with the boundary
   * that the Content-Type header has from the start.
   */
  readonly formData?: (() => FormData | Promise<FormData>) | undefined;
  /** Makes the signal at the first read of `signal`. */
  readonly signal?: (() => AbortSignal) | undefined;
}

/** A request as it leaves the isolate. */
export interface OutgoingRequest {
  readonly request: Request;
  readonly method: string;
  /** Absolute and serialised, with its fragment. */
  readonly url: string;
  readonly redirect: 'follow' | 'error' | 'manual';
  /** `name\nvalue\nname\nvalue…`, lower-case names; empty for none. */
  readonly headers: string;
  /** As in `TakenResponse`. */
  readonly body: string | ArrayBuffer | ByteSource | undefined;
  /** Undefined if no code holds the signal, so that it cannot abort. */
  readonly signal: AbortSignal | undefined;
}

/** Makes the request of a call without parsing its URL or touching its body. */
export let makeRequest: (parts: RequestParts) => Request;

/**
 * The request of `fetch(input, init)`. Its body counts as used then.
 *
 * @throws errors of the constructor of Request; TypeError for a header value that HTTP cannot carry
 */
export let takeRequest: (input: unknown, init: unknown) => OutgoingRequest;

type Follows = AbortSignal | Request | (() => AbortSignal) | undefined;

/** Marks a constructor call of the prelude. */
const INSIDE = Symbol();

export class Request implements BodyMixin {
  declare readonly body: BodyMixin['body'];
  declare readonly bodyUsed: BodyMixin['bodyUsed'];
  declare arrayBuffer: BodyMixin['arrayBuffer'];
  declare blob: BodyMixin['blob'];
  declare bytes: BodyMixin['bytes'];
  declare formData: BodyMixin['formData'];
  declare json: BodyMixin['json'];
  declare text: BodyMixin['text'];
  declare textStream: BodyMixin['textStream'];

  #method = 'GET';
  #url = '';
  #options: RequestOptions = DEFAULT_OPTIONS;
  #list: HeaderList;
  #headers: Headers | undefined;
  #body: Body | undefined;
  #signal: AbortSignal | undefined;
  /** Sources of the signal, or a function that makes it, until `signal` is read. */
  #follows: Follows;

  static {
    makeRequest = ({ method, url, headers, body, formData, signal }) => {
      const request = new Request(INSIDE);
      request.#method = method;
      request.#url = url;
      request.#follows = signal;
      const list = request.#list;
      if (isArray(headers)) {
        for (let i = 0; i < headers.length; i += 2) appendHeader(list, headers[i] as string, headers[i + 1]);
      } else {
        fillHeaders(list, headers);
      }
      if (formData !== undefined) {
        const source = new FormSource(formData, true);
        request.#body = new Body(source);
        addContentType(list, undefined, request.#body);
      } else if (body !== undefined) {
        const whole = typeof body === 'string' || isByteSource(body);
        request.#body = new Body(whole ? body : new Uint8ArrayIntrinsic(body));
      }
      return request;
    };

    takeRequest = (input, init) => {
      const request = new Request(input, init);
      const headers = flatText(request.#list);
      return {
        request,
        method: request.#method,
        url: request.#url,
        redirect: request.#options.redirect,
        headers,
        body: request.#body && takeBody(request.#body),
        signal: heldSignal(request),
      };
    };

    /** The signal that code can hold: the request's own, or the one it depends on. */
    const heldSignal = (request: Request): AbortSignal | undefined => {
      let at: Follows = request;
      while (at !== undefined && #method in at) at = at.#signal ?? at.#follows;
      return typeof at === 'function' ? undefined : at;
    };

    mixInBody(
      Request.prototype,
      (self) => self.#body,
      (self) => self.#list,
    );
  }

  constructor(input: unknown, init: unknown = undefined) {
    if (input === INSIDE) {
      this.#list = new HeaderList();
      return;
    }
    requireArguments(arguments.length, 1, 'Request');
    const from = isObject(input) && #method in input ? (input as Request) : undefined;
    const text = from === undefined ? toUSVString(input) : '';
    const given = init === undefined || init === null ? undefined : convertInit(init);
    if (from === undefined) {
      this.#url = parseUrl(text);
    } else {
      this.#url = from.#url;
      this.#method = from.#method;
      this.#options = from.#options;
      this.#follows = from;
    }
    if (given !== undefined) {
      this.#options = mergeOptions(this.#options, given);
      if (given.method !== undefined) this.#method = checkMethod(given.method);
      if (given.signal !== undefined) this.#follows = given.signal ?? undefined;
    }
    checkMode(this.#options.mode, this.#method);
    if (given?.headers === undefined) {
      this.#list = from === undefined ? new HeaderList() : copyHeaders(from.#list);
    } else {
      this.#list = given.headers;
      normalizeHeaders(this.#list);
    }
    const inherited = from === undefined ? undefined : from.#body;
    const own = given?.body;
    if ((own ?? inherited) === undefined) return;
    if (this.#method === 'GET' || this.#method === 'HEAD')
      throw new TypeError(`Request: a ${this.#method} request has no body`);
    this.#body = own === undefined ? inherit(inherited as Body) : own;
    if (own !== undefined) {
      this.#acceptBody(own, given?.duplex);
      addContentType(this.#list, given?.bodyInit, own);
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

  /** Empty, as for every request that a script makes. */
  get destination(): string {
    void this.#method;
    return '';
  }

  get referrer(): string {
    return this.#options.referrer;
  }

  get referrerPolicy(): string {
    return this.#options.referrerPolicy;
  }

  get mode(): string {
    return this.#options.mode;
  }

  get credentials(): string {
    return this.#options.credentials;
  }

  get cache(): string {
    return this.#options.cache;
  }

  get redirect(): string {
    return this.#options.redirect;
  }

  get integrity(): string {
    return this.#options.integrity;
  }

  get keepalive(): boolean {
    return this.#options.keepalive;
  }

  get isReloadNavigation(): boolean {
    void this.#method;
    return false;
  }

  get isHistoryNavigation(): boolean {
    void this.#method;
    return false;
  }

  get duplex(): string {
    void this.#method;
    return 'half';
  }

  /** Made at the first read: most requests are never aborted. */
  get signal(): AbortSignal {
    return this.#ownSignal();
  }

  clone(): Request {
    const body = this.#body;
    if (body !== undefined && isUnusable(body))
      throw new TypeError('Request.clone: the body has already been used, or is locked by a reader');
    const clone = new Request(INSIDE);
    clone.#method = this.#method;
    clone.#url = this.#url;
    clone.#options = this.#options;
    clone.#list = copyHeaders(this.#list);
    clone.#follows = this;
    clone.#body = body && cloneBody(body);
    return clone;
  }

  #ownSignal(): AbortSignal {
    this.#signal ??= this.#newSignal();
    return this.#signal;
  }

  #newSignal(): AbortSignal {
    const follows = this.#follows;
    if (follows === undefined) return abort().createAbortSignal();
    if (typeof follows === 'function') return follows();
    return abort().dependentSignal([#method in follows ? follows.#ownSignal() : follows]);
  }

  /** The standard's checks of a body that is a stream. */
  #acceptBody(body: Body, duplex: string | undefined): void {
    if (body.source !== undefined) return;
    if (this.#options.keepalive) throw new TypeError('Request: a keepalive request takes no stream');
    requireFreshStream(body);
    if (duplex === undefined) throw new TypeError('Request: a stream as a body asks for duplex: "half"');
    if (this.#options.mode === 'no-cors') throw new TypeError('Request: the mode "no-cors" takes no stream');
  }
}
defineInterface(Request, 'Request');

function inherit(body: Body): Body {
  if (isUnusable(body))
    throw new TypeError('Request: the body of the given request has already been used, or is locked');
  return transferBody(body);
}
