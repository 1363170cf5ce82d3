/**
 * The `Request` objects of a call: the one that an integration of the SDK gets for a `fetch` event, and the envelope that a
 * module worker of its own making gets.
 *
 * A body that is still on its way is taken from the host only as somebody reads it, and the request's signal exists only
 * once somebody asks for it: most calls need neither.
 */
import type { Call } from './call.ts';
import { Inbound } from './inbound.ts';
import type { Bytes } from './web/encoding/bytes.ts';
import type { AbortSignal } from './web/events/abort.ts';
import { fileOver } from './web/fetch/blob.ts';
import { type FormData, type FormEntry, formOf } from './web/fetch/form-data.ts';
import { makeRequest, type Request } from './web/fetch/request.ts';
import { TOKEN } from './web/fetch/request-init.ts';
import { abort } from './web/lazy.ts';
import { regExpExec, toUpperCase, Uint8ArrayIntrinsic } from './web/primordials.ts';
import { collectBytes } from './web/streams/byte-source.ts';
import { normalizeUrl } from './web/url/url-record.ts';

/** Methods that an envelope may name in small letters. The constructor of `Request` leaves PATCH as it is; here it is one of them. */
const KNOWN_METHOD = /^(?:DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT)$/i;

/** Absent, whole, or still coming. */
export type CallBody = ArrayBuffer | Inbound | undefined;

/** The member `request` of a `fetch` event (REFERENCE D4). The sender of an envelope may have put anything there. */
export interface EventRequest {
  readonly method?: unknown;
  readonly url?: unknown;
  readonly headers?: unknown;
}

/** @returns undefined where the event describes no request with a method and an absolute URL */
export function requestOf(call: Call, event: EventRequest | undefined, body: CallBody): Request | undefined {
  const { method: named, url, headers } = event ?? {};
  if (typeof named !== 'string' || regExpExec(TOKEN, named) === null || typeof url !== 'string')
    return undefined;
  // Most are in capital letters already.
  const method =
    named === 'GET' || named === 'POST' || regExpExec(KNOWN_METHOD, named) === null
      ? named
      : toUpperCase(named);
  const absolute = normalizeUrl(url);
  if (absolute === undefined) return undefined;
  // Attack: a getter `formData` on `Object.prototype` is handed these parts, and with them the source of the body.
  const parts = {
    __proto__: null,
    method,
    url: absolute.href,
    headers: typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {},
    // GET and HEAD carry no body, and a Request of theirs must not be given one.
    body: method === 'GET' || method === 'HEAD' ? undefined : body,
    signal: () => signalOf(call),
  };
  return makeRequest(parts);
}

/** The envelope as a multipart request, whose bytes are made only if somebody asks for them. */
export function envelopeRequest(
  call: Call,
  url: string,
  event: string,
  environment: string,
  body: CallBody,
): Request {
  const entries: FormEntry[] = [
    ['event', event],
    ['environment', environment],
  ];
  const form = (bytes: Bytes | undefined): FormData =>
    formOf(
      bytes === undefined
        ? entries
        : [...entries, ['fetch-body', fileOver(bytes, 'fetch-body', 'application/octet-stream')]],
    );
  const parts = {
    __proto__: null,
    method: 'POST',
    url,
    headers: [],
    formData: async () => {
      if (body instanceof Inbound) return form((await collectBytes(body)).bytes);
      return form(body && new Uint8ArrayIntrinsic(body));
    },
    signal: () => signalOf(call),
  };
  return makeRequest(parts);
}

/** Aborts when the caller goes away, or the call runs out of time. */
function signalOf(call: Call): AbortSignal {
  const signal = abort().createAbortSignal();
  call.onOver = (reason) => abort().signalAbort(signal, reason);
  return signal;
}
