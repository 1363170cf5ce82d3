/**
 * The `Request` objects of a call: the original request for the `fetch` handler of an SDK
 * integration, and the envelope for a module worker.
 *
 * Both are lazy, because most calls need neither: a streamed body is taken from the host as code
 * reads it, and the request's signal is made when code reads `signal`.
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

/** Methods that an envelope may have in lower case. `new Request` leaves `patch` as it is. */
const KNOWN_METHOD = /^(?:DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT)$/i;

/** Body of a call: absent, in memory as a whole, or a stream. */
export type CallBody = ArrayBuffer | Inbound | undefined;

/**
 * The member `request` of a `fetch` event (docs/contract/calls.md#raw-traffic). The sender of an
 * envelope may put anything there.
 */
export interface EventRequest {
  readonly method?: unknown;
  readonly url?: unknown;
  readonly headers?: unknown;
}

/** @returns undefined unless the event has a method and an absolute URL */
export function requestOf(call: Call, event: EventRequest | undefined, body: CallBody): Request | undefined {
  const { method: named, url, headers } = event ?? {};
  if (typeof named !== 'string' || regExpExec(TOKEN, named) === null || typeof url !== 'string')
    return undefined;
  // Fast path: most methods are in upper case already.
  const method =
    named === 'GET' || named === 'POST' || regExpExec(KNOWN_METHOD, named) === null
      ? named
      : toUpperCase(named);
  const absolute = normalizeUrl(url);
  if (absolute === undefined) return undefined;
  // Attack: a getter `formData` on `Object.prototype` that receives these parts, with the source of
  // the body.
  const parts = {
    __proto__: null,
    method,
    url: absolute.href,
    headers: typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {},
    // A Request of GET or HEAD has no body.
    body: method === 'GET' || method === 'HEAD' ? undefined : body,
    signal: () => signalOf(call),
  };
  return makeRequest(parts);
}

/**
 * The envelope as a multipart request. Its bytes are made only if code reads them.
 *
 * @param entries the parts of the envelope, without the body
 */
export function envelopeRequest(call: Call, url: string, entries: FormEntry[], body: CallBody): Request {
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

/** A signal that aborts when the caller disconnects or the call runs out of time. */
function signalOf(call: Call): AbortSignal {
  const signal = abort().createAbortSignal();
  call.onOver = (reason) => abort().signalAbort(signal, reason);
  return signal;
}
