/**
 * Checks the emissions of an isolate and turns them into messages: answers, fetches, parts of
 * streams, texts, lists of names.
 *
 * The isolate is hostile: a header with a line break, an invalid status, a text without end never
 * reach the pipe.
 */
import type { Emission } from '../../protocol/bridge.ts';
import {
  type FetchMessage,
  HEADER_NAME,
  HEADER_VALUE,
  REDIRECT_MODES,
  type ScriptExports,
  STREAM_CHUNK_BYTES_MAX,
  STREAM_CHUNKS_IN_FLIGHT,
  type StoreMessage,
  type StreamMessage,
  WIRE_BOUNDS,
} from '../../protocol/wire.ts';
import type { Answer } from './cell-call.ts';

const EMPTY = Buffer.alloc(0);

/** @returns undefined where any part is malformed. */
export function readAnswer(emission: EmissionOf<'respond'>): Answer | undefined {
  const [, , status, headers, body, , , more, wholeLength, statusText] = emission;
  const follows = isInteger(wholeLength) && wholeLength > 0 ? 'whole' : true;
  if (!isInteger(status) || status < 200 || status > 599) return undefined;
  const pairs = readHeaders(headers);
  const bytes = readBody(body);
  if (statusText !== undefined && (typeof statusText !== 'string' || !HEADER_VALUE.test(statusText)))
    return undefined;
  const reason = statusText !== undefined && statusText.length <= WIRE_BOUNDS.reasonChars && { statusText };
  return pairs && bytes && { status, ...reason, headers: pairs, body: bytes, more: more === true && follows };
}

export type EmissionOf<Kind> = Extract<Emission, [kind: Kind, ...rest: unknown[]]>;

/** A message of the wire and its bytes. */
export interface Outgoing<Message> {
  readonly message: Message;
  readonly bytes: Buffer;
}

/** Message of the error with which a fetch fails that `readFetch` rejects. */
export const UNSENDABLE =
  'The request has headers, or a URL, that are too many or too long, or invalid in HTTP.';

/** @returns undefined where any part is malformed. */
export function readFetch(
  id: number,
  [, , stream, method, url, redirect, headers, body, more, whole]: EmissionOf<'fetch'>,
): Outgoing<FetchMessage> | undefined {
  const pairs = readHeaders(headers);
  const bytes = readBody(body);
  const mode = REDIRECT_MODES.find((known) => known === redirect);
  // Attack: a fetch as stream 0, which is the call's own. The host would end the cell for it, with
  // the calls of all tenants.
  if (!isStream(stream) || stream === 0) return undefined;
  if (pairs === undefined || bytes === undefined || mode === undefined) return undefined;
  if (typeof method !== 'string' || !HEADER_NAME.test(method)) return undefined;
  if (typeof url !== 'string' || url.length > WIRE_BOUNDS.urlChars) return undefined;
  const follows = whole === true ? 'pieces' : 'stream';
  const form = more === true ? follows : body === undefined ? 'none' : 'whole';
  return {
    message: { t: 'fetch', id, stream, method, url, redirect: mode, headers: pairs, body: form },
    bytes,
  };
}

/**
 * @param valueBytesMax the prelude keeps this bound
 * @returns undefined where any part is malformed
 */
export function readStore(
  id: number,
  [, , operation, request, value]: EmissionOf<'store'>,
  valueBytesMax: number,
): Outgoing<StoreMessage> | undefined {
  const bytes = readBody(value);
  if (!isInteger(operation) || operation < 0 || bytes === undefined) return undefined;
  if (typeof request !== 'string' || request.length > WIRE_BOUNDS.storeChars) return undefined;
  if (bytes.byteLength > valueBytesMax) return undefined;
  return { message: { t: 'store', id, operation, request }, bytes };
}

/** @returns undefined where any part is malformed. */
export function readStream(
  id: number,
  emission: EmissionOf<StreamMessage['t']>,
): Outgoing<StreamMessage> | undefined {
  const [t, , stream, value] = emission;
  if (!isStream(stream)) return undefined;
  switch (t) {
    case 'chunk': {
      const bytes = readBody(value);
      const fits = bytes && bytes.byteLength > 0 && bytes.byteLength <= STREAM_CHUNK_BYTES_MAX;
      return fits ? { message: { t, id, stream }, bytes } : undefined;
    }
    case 'close': {
      const error = boundedText(value).slice(0, WIRE_BOUNDS.detailChars);
      return { message: error === '' ? { t, id, stream } : { t, id, stream, error }, bytes: EMPTY };
    }
    case 'credit': {
      const fits = isInteger(value) && value >= 1 && value <= STREAM_CHUNKS_IN_FLIGHT;
      return fits ? { message: { t, id, stream, chunks: value }, bytes: EMPTY } : undefined;
    }
    case 'drop':
      return { message: { t, id, stream }, bytes: EMPTY };
  }
}

/** Without a conversion: that of a symbol or an object would throw. */
const isInteger = (value: unknown): value is number => Number.isInteger(value);
const isStream = (value: unknown): value is number =>
  isInteger(value) && value >= 0 && value < WIRE_BOUNDS.streams;

function readHeaders(headers: unknown): [string, string][] | undefined {
  if (typeof headers !== 'string' || headers.length > WIRE_BOUNDS.headerBytes) return undefined;
  if (headers === '') return [];
  const flat = headers.split('\n');
  if (flat.length % 2 !== 0 || flat.length / 2 > WIRE_BOUNDS.headers) return undefined;
  const pairs: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i] ?? '';
    const value = flat[i + 1] ?? '';
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return undefined;
    pairs.push([name, value]);
  }
  return pairs;
}

function readBody(body: unknown): Buffer | undefined {
  if (body === undefined) return EMPTY;
  if (typeof body === 'string') return Buffer.from(body, 'utf8');
  return body instanceof ArrayBuffer ? Buffer.from(body) : undefined;
}

/** Longest text taken from an isolate at once. */
const TEXT_CHARS_MAX = 64 * 1_024;
/** Most names of components, or of events. */
const NAMES_MAX = 1_000;

/** A text, cut to its bound; empty for any other value. */
export const boundedText = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX) : '';

/**
 * A name that a manifest can have; other characters could grow sixfold as JSON escapes on their way
 * to the host.
 */
const NAME = /^[\x21-\x7e]{1,256}$/;

/** Names separated by line feeds; those that no manifest can have are left out. */
function names(value: unknown): string[] {
  return boundedText(value)
    .split('\n', NAMES_MAX)
    .filter((name) => NAME.test(name));
}

/** The exports of a script, as it claims them. */
export const readExports = ([, , fetch, sdk, components, events]: EmissionOf<'loaded'>): ScriptExports => ({
  fetch: fetch === true,
  sdk: sdk === true,
  components: names(components),
  events: names(events),
});
