/** What the methods of the client pass on: the parts of a request, and its options. */
import type { Reply } from './reply.ts';

/** Options of every request. */
export interface Options {
  /** Ends the request, and the wait before a retry. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until an attempt is given up; replaces `timeoutMs` of the client. */
  readonly timeoutMs?: number | undefined;
  /** Number of retries at most; replaces `retries` of the client. */
  readonly retries?: number | undefined;
}

/** Options of a stream of events that is followed. */
export interface FollowOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined;
  /** `id` of an event: those after it come first. */
  readonly lastEventId?: string | undefined;
  /** Number of failed connections in a row after which the stream fails; eight by default. */
  readonly reconnects?: number | undefined;
  /** Called at each connection: from here on, what is new arrives. */
  readonly onOpen?: (() => void) | undefined;
  /** Called where events may be missing, because the service no longer had the last one. */
  readonly onGap?: (() => void) | undefined;
}

/** The parts of a request that a route has. */
export interface RequestParts {
  /** Values of the names in the braces of the path. */
  readonly path?: Readonly<Record<string, string | number>>;
  /** Members that are undefined are left out. */
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as `multipart/form-data`. */
  readonly form?: FormData | object;
  /** How the body of a success is read; as JSON by default. */
  readonly answer?: 'json' | 'text' | 'blob' | 'none';
  /** Where in the body the id is by which the service recognizes a repetition. */
  readonly idempotentBy?: readonly string[];
  readonly options?: Options | undefined;
}

/** Sends the requests of the methods. */
export interface Requests {
  send<Body>(method: string, path: string, parts: RequestParts): Reply<Body>;
  follow<Event>(path: string, parts: RequestParts, options?: FollowOptions): AsyncIterable<Event>;
}
