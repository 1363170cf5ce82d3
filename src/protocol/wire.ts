/**
 * Everything that can cross the pipe between the host and a cell.
 *
 * A frame is a small JSON head, one of the messages below, and raw bytes (`frames.ts` knows the layout). Both sides
 * import this file and nothing else of each other. A frame from a cell is hostile input: the host takes it through
 * `parseCellMessage`, which accepts only these shapes within these bounds, and then checks that the call it names was
 * given to that very cell.
 */
import {
  CALL_ENDING_LIMITS,
  type IsolateLimits,
  type LimitName,
  type Limits,
  SOFT_LIMITS,
  type SoftLimit,
} from '../limits.ts';

export type { IsolateLimits, SoftLimit };

/** How a call ended: one word, the same in the answer, the log and the metrics. */
export const OUTCOMES = [
  /** The integration answered. */
  'ok',
  /** The integration threw, rejected, or answered with something that is not a response. */
  'exception',
  'exceededCpu',
  'exceededMemory',
  'exceededWallTime',
  /** The answer was over the response limit. */
  'responseTooLarge',
  /** The caller went away. */
  'canceled',
  /** Never started: too many calls were waiting, or the service is stopping. */
  'loadShed',
  /** The cell died under the call. */
  'cellCrashed',
  /** A fault of Annex. */
  'internalError',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Outcomes that are for the host alone to say. */
const HOST_OUTCOMES: readonly Outcome[] = ['loadShed', 'cellCrashed'];
const CELL_OUTCOMES: readonly unknown[] = OUTCOMES.filter((outcome) => !HOST_OUTCOMES.includes(outcome));

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The limits a cell keeps by itself. */
export type CellLimits = IsolateLimits &
  Pick<Limits, 'isolatesPerCell' | 'cellHeapMib' | 'cellRssMib' | 'warmIsolatesPerCell'>;

/**
 * A stream of bytes between the host and an isolate. Streams belong to a call and have a number in it: 0 is the call's
 * own (its upload one way, its answer the other), the others are those of the fetch with that number. The sender keeps at
 * most `STREAM_CHUNKS_IN_FLIGHT` chunks ahead of the receiver's credit, which is what holds back a quick producer.
 */
export type StreamMessage =
  /** Bytes: the next piece, 1 to `STREAM_CHUNK_BYTES_MAX` of them. */
  | { t: 'chunk'; id: number; stream: number }
  /** From the sender: that was all; with `error`, not all, and why. */
  | { t: 'close'; id: number; stream: number; error?: string }
  /** From the receiver: so many more chunks have been taken. */
  | { t: 'credit'; id: number; stream: number; chunks: number }
  /** From the receiver: nobody wants the rest. Ends a fetch that has no answer yet. */
  | { t: 'drop'; id: number; stream: number };

/** Chunks of one stream that may be on their way, or wait to be taken. */
export const STREAM_CHUNKS_IN_FLIGHT = 8;
export const STREAM_CHUNK_BYTES_MAX = 64 * 1024;

export const REDIRECT_MODES = ['follow', 'error', 'manual'] as const;
export type RedirectMode = (typeof REDIRECT_MODES)[number];
const FETCH_BODIES = ['none', 'whole', 'pieces', 'stream'] as const;

/** What the host asks of a cell. */
export type HostMessage =
  | StreamMessage
  /** First of all, once. Bytes: the source of the prelude, then of its parts; `sources` has the length of each. */
  | { t: 'hello'; limits: CellLimits; sources: number[] }
  /** Enter an isolate. Bytes: event, environment (both JSON text), then the body. */
  | {
      t: 'call';
      id: number;
      /** Key of the isolate: installation and version. */
      isolate: string;
      /** Key of the script: one published version. */
      script: string;
      /** URL the integration sees as its own envelope door. */
      url: string;
      cpuMs: number;
      wallMs: number;
      firstByteMs: number;
      /** How long it has been under way already, in a cell that has died. */
      elapsedMs?: number;
      eventBytes: number;
      environmentBytes: number;
      /** Absent where the request had no body. */
      bodyBytes?: number;
      /** The body follows as stream 0. */
      more?: true;
      /** It is one of a backlog: the cell lets the calls of others go first. */
      background?: true;
      /** What its isolate keeps, where that is not what `hello` said. */
      limits?: IsolateLimits;
    }
  /** The answer to a fetch, with its URL after redirects. Bytes: its body, unless that follows as a stream. */
  | {
      t: 'fetched';
      id: number;
      stream: number;
      status: number;
      statusText: string;
      url: string;
      redirected: boolean;
      headers: [string, string][];
      more?: true;
    }
  /** A fetch came to nothing; the message is for the tenant. */
  | { t: 'fetch-failed'; id: number; stream: number; message: string }
  /** The caller of this call is gone. */
  | { t: 'cancel'; id: number }
  /** Bytes: the source of a script, in answer to `need`. */
  | { t: 'script'; script: string }
  /** Run a script once in a throwaway isolate and describe what it exports. Bytes: the source. */
  | { t: 'probe'; id: number; cpuMs: number; wallMs: number }
  /** Retire an isolate: finish what runs in it, then dispose of it. */
  | { t: 'retire'; isolate: string }
  /** Answer with `pulse`; or end what has grown most, because the cell is about to be killed for its size. */
  | { t: 'ping' | 'relieve' };

/** How a call or probe ended. */
export interface CallEnd {
  outcome: Outcome;
  /** CPU over all entries, milliseconds. */
  cpuMs: number;
  /** What to tell the author, in one sentence. */
  detail?: string;
  /** The limit that ended it, and what it came to where that is known. What the limit is, the host knows. */
  limit?: { name: LimitName; used?: number };
  /** Limits that it met on the way, each once. */
  met?: LimitName[];
}

/** A tenant's `fetch`. Bytes: its body, unless that follows as a stream; `pieces` are collected before it is sent. */
export interface FetchMessage {
  t: 'fetch';
  id: number;
  stream: number;
  method: string;
  url: string;
  redirect: RedirectMode;
  headers: [string, string][];
  body: (typeof FETCH_BODIES)[number];
}

/** A body that follows; `whole`: it is there as a whole, and is collected before anybody is answered. */
type More = true | 'whole';

/** What a cell tells the host. */
export type CellMessage =
  | StreamMessage
  | FetchMessage
  | { t: 'ready' }
  | { t: 'need'; script: string }
  /** Bytes: the text of one log line of a call. */
  | { t: 'log'; id: number; level: LogLevel }
  /** Bytes: the body, unless that follows as stream 0. With `end`, the call is over too. */
  | { t: 'response'; id: number; status: number; headers: [string, string][]; more?: More; end?: CallEnd }
  | { t: 'end'; id: number; end: CallEnd }
  /** The tenant has seen the call; sent only where nothing else tells it. */
  | { t: 'begun'; id: number }
  | { t: 'probed'; id: number; end: CallEnd; exports?: ScriptExports }
  /** The isolates of this owner have lost a thread for good, or have broken the engine: the cell wants to be replaced. */
  | { t: 'stuck'; owner: string }
  /** Answer to `ping`. */
  | { t: 'pulse'; isolates: number; stuck: number; heapMib: number };

/** What a script offers, as seen by running it once (REFERENCE D10). */
export interface ScriptExports {
  /** Default export has a `fetch` function. */
  fetch: boolean;
  /** Default export was made by `createIntegration`. */
  sdk: boolean;
  components: string[];
  events: string[];
}

/**
 * The marks of a cell: a file of fixed records in which it notes whose code is executing, for the host to read after a
 * crash. A record is a state, the length of an owner's id and the id in Latin-1. The first record has a state alone: whether
 * something was said that may not have left the cell.
 */
export const EXECUTION_JOURNAL = {
  recordBytes: 64,
  records: 64,
  /** States. One owner's isolate is noted as the one that the cell has grown most under. An owner that has stopped may have said something that has not left the cell. */
  empty: 0,
  executing: 1,
  stopped: 2,
  unsure: 3,
  holds: 4,
} as const;

/** URL under which the prelude's own frames appear in stack traces. */
export const PRELUDE_URL = 'annex:/prelude.js';

/** What a script is called while it is tried out, before it has a version. */
export const PROBED_SCRIPT = 'probe';
/** Whose an isolate is, by its key: the part before the script. */
export const ownerOf = (isolate: string): string => {
  const end = isolate.indexOf('/');
  return end < 0 ? isolate : isolate.slice(0, end);
};

/** Whose the isolate of a try-out is: nobody's but its own. */
export const probe = (id: number): string => `${PROBED_SCRIPT}-${id}`;

/** URL under which the positions of a script appear in stack traces; the host maps them to the author's files. */
export const scriptUrl = (script: string): string => `annex:/${script}.js`;

/** Bounds on what a cell may put into a head. */
export const WIRE_BOUNDS = {
  headBytes: 256 * 1024,
  bodyBytes: 64 * 1024 * 1024,
  headers: 256,
  headerBytes: 32 * 1024,
  detailChars: 2_048,
  /** Streams of one call. */
  streams: 10_000,
  urlChars: 64 * 1024,
  names: 1_000,
  nameChars: 256,
  cpuMs: 3_600_000,
  /** Of what was used up: bytes, milliseconds. */
  used: 2 ** 40,
} as const;

/**
 * Takes a decoded head for what it claims to be.
 *
 * @returns the message, rebuilt from its known members alone (no extra member, no `__proto__` survives), or
 *   undefined where anything about it is out of shape: the caller then treats the cell as compromised.
 */
export function parseCellMessage(head: unknown): CellMessage | undefined {
  if (!isRecord(head)) return undefined;
  switch (head['t']) {
    case 'ready':
      return { t: 'ready' };
    case 'need':
      return isName(head['script']) ? { t: 'need', script: head['script'] } : undefined;
    case 'log': {
      const { id, level } = head;
      return isId(id) && isLevel(level) ? { t: 'log', id, level } : undefined;
    }
    case 'response':
      return parseResponse(head);
    case 'chunk':
    case 'close':
    case 'credit':
    case 'drop':
      return parseStream(head['t'], head);
    case 'fetch':
      return parseFetch(head);
    case 'end': {
      const end = parseEnd(head['end']);
      return isId(head['id']) && end ? { t: 'end', id: head['id'], end } : undefined;
    }
    case 'begun':
      return isId(head['id']) ? { t: 'begun', id: head['id'] } : undefined;
    case 'probed':
      return parseProbed(head);
    case 'stuck':
      return isName(head['owner']) ? { t: 'stuck', owner: head['owner'] } : undefined;
    case 'pulse': {
      const { isolates, stuck, heapMib } = head;
      return isCount(isolates) && isCount(stuck) && isCount(heapMib)
        ? { t: 'pulse', isolates, stuck, heapMib }
        : undefined;
    }
    default:
      return undefined;
  }
}

function parseResponse(head: Record<string, unknown>): CellMessage | undefined {
  const { id, status } = head;
  if (!isId(id) || !isCount(status) || status < 200 || status > 599) return undefined;
  const headers = parseHeaders(head['headers']);
  const { more } = head;
  if (headers === undefined) return undefined;
  if (more === true || more === 'whole') return { t: 'response', id, status, headers, more };
  if (head['end'] === undefined) return { t: 'response', id, status, headers };
  const end = parseEnd(head['end']);
  return end && { t: 'response', id, status, headers, end };
}

function parseStream(t: StreamMessage['t'], head: Record<string, unknown>): CellMessage | undefined {
  const { id, stream, error, chunks } = head;
  if (!isId(id) || !isStream(stream)) return undefined;
  switch (t) {
    case 'close':
      if (error === undefined) return { t, id, stream };
      return isText(error, WIRE_BOUNDS.detailChars) ? { t, id, stream, error } : undefined;
    case 'credit':
      return isCount(chunks) && chunks <= STREAM_CHUNKS_IN_FLIGHT ? { t, id, stream, chunks } : undefined;
    default:
      return { t, id, stream };
  }
}

function parseFetch(head: Record<string, unknown>): CellMessage | undefined {
  const { id, stream, method, url, redirect, body } = head;
  if (!isId(id) || !isStream(stream) || stream === 0) return undefined;
  const headers = parseHeaders(head['headers']);
  if (headers === undefined || !isText(url, WIRE_BOUNDS.urlChars)) return undefined;
  if (typeof method !== 'string' || !HEADER_NAME.test(method)) return undefined;
  const mode = REDIRECT_MODES.find((known) => known === redirect);
  const form = FETCH_BODIES.find((known) => known === body);
  if (mode === undefined || form === undefined) return undefined;
  return { t: 'fetch', id, stream, method, url, redirect: mode, headers, body: form };
}

function parseHeaders(headers: unknown): [string, string][] | undefined {
  if (!Array.isArray(headers) || headers.length > WIRE_BOUNDS.headers) return undefined;
  const pairs: [string, string][] = [];
  let bytes = 0;
  for (const pair of headers) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [name, value] = pair as [unknown, unknown];
    if (typeof name !== 'string' || typeof value !== 'string') return undefined;
    // Header injection: a compromised cell must not be able to end a header early.
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return undefined;
    bytes += name.length + value.length;
    pairs.push([name, value]);
  }
  return bytes > WIRE_BOUNDS.headerBytes ? undefined : pairs;
}

function parseProbed(head: Record<string, unknown>): CellMessage | undefined {
  const end = parseEnd(head['end']);
  if (!isId(head['id']) || !end) return undefined;
  if (head['exports'] === undefined) return { t: 'probed', id: head['id'], end };
  const exports = head['exports'];
  if (!isRecord(exports)) return undefined;
  const { fetch, sdk, components, events } = exports;
  if (typeof fetch !== 'boolean' || typeof sdk !== 'boolean') return undefined;
  if (!isNames(components) || !isNames(events)) return undefined;
  return { t: 'probed', id: head['id'], end, exports: { fetch, sdk, components, events } };
}

function parseEnd(value: unknown): CallEnd | undefined {
  if (!isRecord(value)) return undefined;
  const { outcome, cpuMs, detail } = value;
  if (!CELL_OUTCOMES.includes(outcome)) return undefined;
  // A forged figure would spoil the operator's counters for good.
  if (typeof cpuMs !== 'number' || !(cpuMs >= 0 && cpuMs <= WIRE_BOUNDS.cpuMs)) return undefined;
  const end: CallEnd = { outcome: outcome as Outcome, cpuMs };
  if (detail !== undefined) {
    if (!isText(detail, WIRE_BOUNDS.detailChars)) return undefined;
    end.detail = detail;
  }
  return withLimits(end, value['limit'], value['met']);
}

function withLimits(end: CallEnd, limit: unknown, met: unknown): CallEnd | undefined {
  if (limit !== undefined) {
    if (!isRecord(limit)) return undefined;
    const { used } = limit;
    const name = CALL_ENDING_LIMITS.find((known) => known === limit['name']);
    if (name === undefined) return undefined;
    if (used === undefined) end.limit = { name };
    else if (isCount(used) && used <= WIRE_BOUNDS.used) end.limit = { name, used };
    else return undefined;
  }
  if (met === undefined) return end;
  if (!Array.isArray(met) || met.length > SOFT_LIMITS.length) return undefined;
  // Taken from the list, so that a name is there once however often it was sent.
  end.met = SOFT_LIMITS.filter((known) => met.includes(known));
  return end.met.length === met.length ? end : undefined;
}

/** A header name: a token of RFC 9110, section 5.6.2. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
/** A header value: field-content of RFC 9110, section 5.5, in Latin-1; no control characters but tab. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isId = isCount;
const isStream = (value: unknown): value is number => isCount(value) && value < WIRE_BOUNDS.streams;
const isText = (value: unknown, charsMax: number): value is string =>
  typeof value === 'string' && value.length <= charsMax;
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= WIRE_BOUNDS.nameChars;
const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= WIRE_BOUNDS.names && value.every(isName);
const isLevel = (value: unknown): value is LogLevel => LOG_LEVELS.includes(value as LogLevel);
