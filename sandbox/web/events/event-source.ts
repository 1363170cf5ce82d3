/**
 * EventSource (https://html.spec.whatwg.org/#the-eventsource-interface): server-sent events over
 * `fetch`.
 *
 * Its requests are fetches of the call that made it, with their limits and their rules for
 * addresses. It ends with that call and does not keep it open. `withCredentials` is kept, without
 * effect: there are no cookies.
 */
import { DOMException } from '../dom-exception.ts';
import './error-dispatch.ts';
import { Utf8Decoder, utf8Encode } from '../encoding/utf8.ts';
import { runFetch } from '../fetch/fetch-source.ts';
import { getHeader, headersFromText } from '../fetch/header-list.ts';
import { extractMimeType } from '../fetch/mime-type.ts';
import { Response, takeResponse } from '../fetch/response.ts';
import { abort } from '../lazy.ts';
import { defineProperty, fromCharCode, min, Uint8ArrayIntrinsic, uncurryGetter } from '../primordials.ts';
import { isByteSource } from '../streams/byte-source.ts';
import { later } from '../time/timer-source.ts';
import { URL } from '../url/url.ts';
import { defineInterface, requireArguments, toDictionary, toUSVString } from '../web-idl.ts';
import { eventState } from './event.ts';
import { getHandler, setHandler } from './event-handler.ts';
import { EventStreamParser } from './event-stream.ts';
import { dispatch, EventTarget, fire } from './event-target.ts';
import { MessageEvent } from './message-event.ts';

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 2;
/** Until the server says otherwise. */
const RETRY_MS = 3_000;
/** A server cannot ask for a time that no timer has. */
const RETRY_MS_MAX = 2 ** 31 - 1;

const urlOf = uncurryGetter<string>(Response.prototype, 'url');
const originOf = uncurryGetter<string>(URL.prototype, 'origin');
const hrefOf = uncurryGetter<string>(URL.prototype, 'href');

export class EventSource extends EventTarget {
  readonly #url: string;
  readonly #withCredentials: boolean;
  readonly #signal = abort().createAbortSignal();
  #state = CONNECTING;
  #retryMs = RETRY_MS;
  #lastEventId = '';

  constructor(url: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'EventSource');
    super();
    const { withCredentials } = toDictionary(init, 'EventSource: parameter 2');
    const parsed = URL.parse(toUSVString(url));
    if (parsed === null)
      throw new DOMException('EventSource: parameter 1 is not an absolute URL', 'SyntaxError');
    this.#url = hrefOf(parsed);
    this.#withCredentials = Boolean(withCredentials);
    void this.#connect();
  }

  get url(): string {
    return this.#url;
  }

  get withCredentials(): boolean {
    return this.#withCredentials;
  }

  get readyState(): number {
    return this.#state;
  }

  close(): void {
    this.#state = CLOSED;
    abort().signalAbort(this.#signal);
  }

  get onopen(): unknown {
    void this.#state;
    return getHandler(this, 'open');
  }

  set onopen(handler: unknown) {
    void this.#state;
    setHandler(this, 'open', handler);
  }

  get onmessage(): unknown {
    void this.#state;
    return getHandler(this, 'message');
  }

  set onmessage(handler: unknown) {
    void this.#state;
    setHandler(this, 'message', handler);
  }

  get onerror(): unknown {
    void this.#state;
    return getHandler(this, 'error');
  }

  set onerror(handler: unknown) {
    void this.#state;
    setHandler(this, 'error', handler);
  }

  /** One connection, from its request to its end; the next one follows after a pause. */
  async #connect(): Promise<void> {
    const headers = { __proto__: null, accept: 'text/event-stream', 'cache-control': 'no-store' };
    const id = headerText(this.#lastEventId);
    const sent = id === '' ? headers : { ...headers, __proto__: null, 'last-event-id': id };
    try {
      const response = await runFetch(this.#url, { __proto__: null, headers: sent, signal: this.#signal });
      if (!(await this.#read(response))) return this.#fail();
    } catch (thrown) {
      // The call has ended, or `close` was called: only an abort throws a DOMException.
      if (thrown instanceof DOMException) {
        this.#state = CLOSED;
        return;
      }
    }
    this.#pause();
  }

  /** Reads a response to its end. @returns false if it is no event stream */
  async #read(response: Response): Promise<boolean> {
    const origin = originOf(new URL(urlOf(response)));
    const taken = takeResponse(response);
    const type = taken && extractMimeType(getHeader(headersFromText(taken.headers), 'content-type'));
    if (taken?.status !== 200 || type?.essence !== 'text/event-stream') {
      if (isByteSource(taken?.body)) taken.body.cancel(undefined);
      return false;
    }
    if (this.#state === CLOSED) return true;
    this.#state = OPEN;
    fire(this, 'open');
    const parser = this.#parser(origin);
    const decoder = new Utf8Decoder(false);
    const { body } = taken;
    if (isByteSource(body)) {
      for (let piece = await body.take(); piece !== undefined; piece = await body.take()) {
        // An abort ends the stream; this piece was there before.
        if (this.#isClosed()) break;
        parser.feed(decoder.decode(piece.bytes, true));
      }
    } else if (typeof body === 'object') parser.feed(decoder.decode(new Uint8ArrayIntrinsic(body), true));
    return true;
  }

  #parser(origin: string): EventStreamParser {
    return new EventStreamParser(
      {
        event: (type, data) => {
          if (this.#isClosed()) return;
          const init = { __proto__: null, data, origin, lastEventId: this.#lastEventId };
          const event = new MessageEvent(type, init);
          eventState(event).trusted = true;
          dispatch(this, event);
        },
        id: (lastEventId) => {
          this.#lastEventId = lastEventId;
        },
        retry: (milliseconds) => {
          this.#retryMs = min(milliseconds, RETRY_MS_MAX);
        },
      },
      this.#lastEventId,
    );
  }

  /** `close` may be called by any listener. */
  #isClosed(): boolean {
    return this.#state === CLOSED;
  }

  /** "Reestablish the connection": the pause is a timer of the call. */
  #pause(): void {
    if (this.#isClosed()) return;
    this.#state = CONNECTING;
    fire(this, 'error');
    if (this.#isClosed()) return;
    try {
      later(() => {
        if (!this.#isClosed()) void this.#connect();
      }, this.#retryMs);
    } catch {
      // The call has too many timers.
      this.#fail();
    }
  }

  /** "Fail the connection". */
  #fail(): void {
    if (this.#isClosed()) return;
    this.#state = CLOSED;
    fire(this, 'error');
  }
}

/** UTF-8 in a header: a character for each byte. */
function headerText(text: string): string {
  const bytes = utf8Encode(text);
  let header = '';
  for (let i = 0; i < bytes.length; i++) header += fromCharCode(bytes[i] as number);
  return header;
}

for (const target of [EventSource, EventSource.prototype]) {
  defineProperty(target, 'CONNECTING', { value: CONNECTING, enumerable: true });
  defineProperty(target, 'OPEN', { value: OPEN, enumerable: true });
  defineProperty(target, 'CLOSED', { value: CLOSED, enumerable: true });
}
defineInterface(EventSource, 'EventSource');
