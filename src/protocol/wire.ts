/**
 * The wire: everything that can cross the pipe between the host and a cell.
 *
 * A frame is a small JSON head, one of the messages below, and raw bytes (`frames.ts` has the
 * layout). Host and cell share this folder and `limits.ts`, and nothing else. A frame from a cell
 * is hostile input: `parse-cell-message.ts` accepts only these shapes within these bounds, and the
 * host then checks that the call it names is in flight in that very cell.
 */
import type { IsolateLimits, LimitName, Limits, SoftLimit } from '../limits.ts';

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

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The limits that a cell enforces by itself. */
export type CellLimits = IsolateLimits &
  Pick<Limits, 'isolatesPerCell' | 'cellHeapMib' | 'cellRssMib' | 'warmIsolatesPerCell'>;

/**
 * A stream of bytes between the host and an isolate. Streams belong to a call and are numbered
 * within it: 0 is the call's own (its upload into the isolate, its answer out of it), each other
 * one belongs to the fetch with that number. The sender is at most `STREAM_CHUNKS_IN_FLIGHT` chunks
 * ahead of the receiver's credit, which makes it wait for a slow reader.
 */
export type StreamMessage =
  /** Bytes: the next chunk, 1 to `STREAM_CHUNK_BYTES_MAX` bytes. */
  | { t: 'chunk'; id: number; stream: number }
  /** From the sender: the end of the stream; with `error`, it broke off for this reason. */
  | { t: 'close'; id: number; stream: number; error?: string }
  /** From the receiver: `chunks` more chunks have been taken. */
  | { t: 'credit'; id: number; stream: number; chunks: number }
  /** From the receiver: the rest is not needed. Ends a fetch that has no answer yet. */
  | { t: 'drop'; id: number; stream: number };

/** Chunks of one stream that may be on their way or wait to be taken. */
export const STREAM_CHUNKS_IN_FLIGHT = 8;
export const STREAM_CHUNK_BYTES_MAX = 64 * 1024;

/** Modes of a fetch, as the standard has them. */
export const REDIRECT_MODES = ['follow', 'error', 'manual'] as const;
export type RedirectMode = (typeof REDIRECT_MODES)[number];
/** How the body of a fetch comes: see `FetchMessage`. */
export const FETCH_BODIES = ['none', 'whole', 'pieces', 'stream'] as const;

/** Messages of the host to a cell. */
export type HostMessage =
  | StreamMessage
  /**
   * The first message, sent once. Bytes: the source of the prelude, then of its parts; `sources`
   * has the length of each. With `inspect`, both sides know the messages of `inspection.ts`.
   */
  | { t: 'hello'; limits: CellLimits; sources: number[]; inspect?: true }
  /** Enter an isolate. Bytes: event, environment (both JSON text), then the body. */
  | {
      t: 'call';
      id: number;
      /** Key of the isolate: installation and version. */
      isolate: string;
      /** Shares the places of a cell with the others: the organization of the installation. */
      holder: string;
      /** Key of the script: one published version. */
      script: string;
      /** URL that the integration sees as that of its envelopes. */
      url: string;
      cpuMs: number;
      wallMs: number;
      firstByteMs: number;
      /** Time since its start, in a cell that has died, milliseconds. */
      elapsedMs?: number;
      eventBytes: number;
      environmentBytes: number;
      /** Absent where the request had no body. */
      bodyBytes?: number;
      /** The body follows as stream 0. */
      more?: true;
      /** It is a background call: the cell lets foreground calls go first. */
      background?: true;
      /** Limits of its isolate, where they are not those of `hello`. */
      limits?: IsolateLimits;
    }
  /**
   * The answer to a fetch, with its URL after redirects. Bytes: its body, unless that follows as a
   * stream.
   */
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
  /** A fetch failed; the message is for the tenant. */
  | { t: 'fetch-failed'; id: number; stream: number; message: string }
  /** The answer to a `store`. Bytes: the value that was read. */
  | { t: 'stored'; id: number; operation: number; answer: string }
  /** The caller of this call has left. */
  | { t: 'cancel'; id: number }
  /** Bytes: the source of a script, in answer to `need`. */
  | { t: 'script'; script: string }
  /** Run a script once in a throwaway isolate and describe what it exports. Bytes: the source. */
  | { t: 'probe'; id: number; cpuMs: number; wallMs: number }
  /** Retire an isolate: finish what runs in it, then dispose of it. */
  | { t: 'retire'; isolate: string }
  /**
   * `ping`: answer with `pulse`. `relieve`: end the isolate that has grown most; else the cell is
   * killed for its size soon.
   */
  | { t: 'ping' | 'relieve' };

/** How a call or probe ended. */
export interface CallEnd {
  outcome: Outcome;
  /** CPU over all entries, milliseconds. */
  cpuMs: number;
  /** The reason for the author, in one sentence. */
  detail?: string;
  /**
   * The limit that ended it, and the figure that was reached where it is known. The host knows the
   * value of the limit.
   */
  limit?: { name: LimitName; used?: number };
  /** Limits that it met without ending, each once. */
  met?: LimitName[];
}

/**
 * A tenant's `fetch`. Bytes: its body, unless that follows as a stream; `pieces` are collected
 * before it is sent.
 */
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

/**
 * An operation of storage. `request` is JSON, which `calls/call-storage.ts` reads. Bytes: the value
 * to store.
 */
export interface StoreMessage {
  t: 'store';
  id: number;
  operation: number;
  request: string;
}

/** Operations of storage of one call that wait for their answers; further ones queue. */
export const STORE_IN_FLIGHT_MAX = 32;

/**
 * A body follows; `whole`: it is complete in the isolate, and the host collects it before it
 * answers.
 */
type More = true | 'whole';

/** The head of an answer. */
export interface ResponseHead {
  status: number;
  /** The reason phrase (RFC 9112, section 4), where the code gave one. */
  statusText?: string;
  headers: [string, string][];
  more?: More;
}

/** Messages of a cell to the host. */
export type CellMessage =
  | StreamMessage
  | FetchMessage
  | StoreMessage
  | { t: 'ready' }
  | { t: 'need'; script: string }
  /** Bytes: the text of one log line of a call. */
  | { t: 'log'; id: number; level: LogLevel }
  /** Bytes: the body, unless that follows as stream 0. With `end`, the call is over too. */
  | (ResponseHead & { t: 'response'; id: number; end?: CallEnd })
  | { t: 'end'; id: number; end: CallEnd }
  /** The tenant has seen the call; sent only where no other message shows it. */
  | { t: 'begun'; id: number }
  | { t: 'probed'; id: number; end: CallEnd; exports?: ScriptExports }
  /**
   * An isolate of this owner has lost a thread for good, or has broken the engine: the cell is to
   * be replaced.
   */
  | { t: 'stuck'; owner: string }
  /** Answer to `ping`. */
  | { t: 'pulse'; isolates: number; stuck: number; heapMib: number };

/**
 * The exports of a script, as a probe sees them
 * (docs/contract/manifest.md#checks-against-the-code).
 */
export interface ScriptExports {
  /** Default export has a `fetch` function. */
  fetch: boolean;
  /** Default export was made by `createIntegration`. */
  sdk: boolean;
  components: string[];
  events: string[];
}

/**
 * The execution journal of a cell: a file of fixed records in which it notes whose code is
 * executing, for the host to read after a crash. A record is a state, the length of an owner's id
 * and the id in Latin-1. The first record has a state alone: `unsure` where messages may not have
 * left the cell. The last one names the owner under whose isolate the cell has grown most, with the
 * state `holds`.
 */
export const EXECUTION_JOURNAL = {
  recordBytes: 64,
  records: 64,
  /** States. Messages of an owner that has `stopped` may not have left the cell. */
  empty: 0,
  executing: 1,
  stopped: 2,
  unsure: 3,
  holds: 4,
} as const;

/** URL of the prelude's own frames in stack traces. */
export const PRELUDE_URL = 'annex:/prelude.js';

/** Key of a script during a probe, before it has a version. */
export const PROBED_SCRIPT = 'probe';
/** Owner of an isolate, by its key: the part before the script. */
export const ownerOf = (isolate: string): string => {
  const end = isolate.indexOf('/');
  return end < 0 ? isolate : isolate.slice(0, end);
};

/** Owner of a probe's isolate: each probe has its own. */
export const probe = (id: number): string => `${PROBED_SCRIPT}-${id}`;

/** URL of a script in stack traces; the host maps its positions to the author's files. */
export const scriptUrl = (script: string): string => `annex:/${script}.js`;

/** Bounds on messages of a cell. */
export const WIRE_BOUNDS = {
  headBytes: 256 * 1024,
  bodyBytes: 64 * 1024 * 1024,
  headers: 256,
  headerBytes: 32 * 1024,
  detailChars: 2_048,
  /** Streams of one call. */
  streams: 10_000,
  urlChars: 64 * 1024,
  /** Of the request of an operation of storage, which holds a key or a cursor. */
  storeChars: 16 * 1024,
  /** Of a reason phrase; a longer one is not sent. */
  reasonChars: 256,
  names: 1_000,
  nameChars: 256,
  cpuMs: 3_600_000,
  /** Of the figure in `limit.used`: bytes or milliseconds. */
  used: 2 ** 40,
} as const;

/** A header name: a token of RFC 9110, section 5.6.2. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
/**
 * A header value: field-content of RFC 9110, section 5.5, in Latin-1; no control characters but
 * tab.
 */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
