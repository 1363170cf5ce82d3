/**
 * Reads the body of one request: into memory, within the limit of the route and the budget of the
 * process, or as a stream, for an integration that reads it as it arrives.
 *
 * The framework's own reader is not used: it has one limit for all requests of a route, no budget,
 * and refuses content types that do not concern the host. Only bytes are read here; the routes
 * interpret them.
 */
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { AnnexError } from '../../../errors.ts';
import { limitError } from '../../../model/limit-met.ts';
import type { Sender, SlowSenders, WatchedSender } from '../slow-senders.ts';
import type { BodyShare } from './body-budget.ts';

/** Chunks that are kept apart before they are joined. */
const LOOSE_CHUNKS_MAX = 256;
const NOTHING = Buffer.alloc(0);
/**
 * A body that comes in one chunk of at most this size is not counted: it is held while its call
 * waits or runs, and calls are bounded. Counting would cost more than the rest of its handling.
 */
const UNCOUNTED_BYTES_MAX = 16 * 1024;

/**
 * Reads the body of a request (empty if there is none) and passes it to `use`. Bytes are released
 * when `use` has settled or reading has failed: one `finally`, so every path releases exactly once.
 *
 * @throws AnnexError REQUEST_TOO_LARGE, REQUEST_TOO_SLOW, REQUEST_SHED, or CALL_CANCELED if the
 * client disconnected; whatever `use` throws
 */
export const bodyReader =
  (senders: SlowSenders) =>
  async <T>(
    request: IncomingMessage,
    bytesMax: number,
    share: BodyShare,
    use: (body: Buffer) => Promise<T>,
  ): Promise<T> => {
    if (!hasBody(request)) return use(NOTHING);
    try {
      return await use(await read(request, bytesMax, share, senders));
    } finally {
      share.release();
    }
  };

/**
 * Refuses a body by its `Content-Length`, before any of it is read. @throws AnnexError
 * REQUEST_TOO_LARGE
 */
export function refuseAnnouncedBody({ headers }: IncomingMessage, bytesMax: number): void {
  const bytes = Number(headers['content-length'] ?? 0);
  if (bytes > bytesMax) throw tooLarge(bytesMax, bytes);
}

/**
 * Bodies with a `Content-Length` up to this are read before the call begins, so that a slow sender
 * holds no place of the installation.
 */
const READ_AHEAD_BYTES_MAX = 64 * 1024;

/** Whether a request of raw traffic is handed over before its whole body has arrived. */
export const isStreamed = (request: IncomingMessage): boolean =>
  hasBody(request) && !(Number(request.headers['content-length']) <= READ_AHEAD_BYTES_MAX);

/**
 * Methods whose requests have no body in raw traffic (docs/contract/calls.md#raw-traffic): none is
 * read.
 */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

/** Without these two headers a request has no body (RFC 9112, section 6.3). */
const hasBody = ({ headers, method = '' }: IncomingMessage): boolean =>
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0) &&
  !BODILESS.has(method);

function read(
  request: IncomingMessage,
  bytesMax: number,
  share: BodyShare,
  senders: SlowSenders,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const sender = new ReadBody(refuse);
    const announcedBytes = Number(request.headers['content-length']);
    const watched = request.complete || request.destroyed ? undefined : senders.watch(sender);
    let isCounted = false;
    // The client disconnected before: its `close` event has passed, and waiting for it would never
    // end.
    if (request.destroyed) return onClose();
    request.on('data', onData).on('end', onEnd).on('close', onClose);

    function settle(): void {
      if (watched) senders.forget(watched);
      share.settle();
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    }
    function refuse(error: AnnexError): void {
      settle();
      // The rest of the body is dropped as it arrives; the answer closes the connection.
      request.resume();
      reject(error);
    }
    function onData(chunk: Buffer): void {
      if (sender.sentBytes + chunk.length > bytesMax) refuse(tooLarge(bytesMax));
      else if (!take(chunk.length)) refuse(shed(share));
      else sender.push(chunk);
    }
    function take(bytes: number): boolean {
      const isWhole = sender.sentBytes + bytes === announcedBytes;
      if (isWhole && bytes === announcedBytes && bytes <= UNCOUNTED_BYTES_MAX) return true;
      if (!share.take(bytes)) return false;
      // Most bodies end here; the others wait for their clients from now on.
      if (!isCounted && !isWhole)
        share.awaitClient({ movedBytes: () => sender.sentBytes, evict: () => sender.tooSlow() });
      isCounted = true;
      return true;
    }
    function onEnd(): void {
      settle();
      resolve(sender.join());
    }
    function onClose(): void {
      settle();
      reject(new AnnexError('CALL_CANCELED', 'The client disconnected before its body had arrived.'));
    }
  });
}

/**
 * A body as it arrives. Attack: chunks of one byte, which cost the sender 6 bytes each and would
 * cost the host an object each, a hundred times what the budget counts. So chunks are joined once
 * there are many.
 */
class ReadBody implements Sender {
  readonly isAwaited = true;
  readonly #refuse: (error: AnnexError) => void;
  readonly #joined: Buffer[] = [];
  #loose: Buffer[] = [];
  sentBytes = 0;

  constructor(refuse: (error: AnnexError) => void) {
    this.#refuse = refuse;
  }

  tooSlow(): void {
    this.#refuse(tooSlow());
  }

  push(chunk: Buffer): void {
    this.sentBytes += chunk.length;
    if (this.#loose.push(chunk) < LOOSE_CHUNKS_MAX) return;
    this.#joined.push(Buffer.concat(this.#loose));
    this.#loose = [];
  }

  /**
   * The whole body. A single chunk is returned as it is: Node has already copied it out of the
   * socket's memory.
   */
  join(): Buffer {
    const [first = NOTHING, ...rest] = [...this.#joined, ...this.#loose];
    return rest.length === 0 ? first : Buffer.concat([first, ...rest], this.sentBytes);
  }
}

/** @param used size of the body, if known */
const tooLarge = (bytesMax: number, used?: number): AnnexError =>
  limitError('REQUEST_TOO_LARGE', {
    name: 'requestBodyBytes',
    max: bytesMax,
    ...(used !== undefined && { used }),
  });
const tooSlow = (): AnnexError =>
  new AnnexError('REQUEST_TOO_SLOW', 'The body of the request arrived too slowly.');
/** @param share that has just refused bytes */
export const shed = ({ limit }: BodyShare): AnnexError =>
  limit
    ? limitError('REQUEST_SHED', limit)
    : new AnnexError('REQUEST_SHED', 'The service holds too many bodies.');

/**
 * A request body as a stream, for an integration that reads it as it arrives. No more of it is read
 * from the socket than the integration asks for, so a slow integration holds its client back.
 *
 * The limits on size and pace apply. A body that exceeds one ends its call, and the client gets the
 * error if the integration has not answered yet.
 */
export class StreamedUpload extends Transform implements Sender {
  readonly #bytesMax: number;
  readonly #request: IncomingMessage;
  readonly #senders: SlowSenders;
  readonly #watched: WatchedSender;
  #bytes = 0;
  #refusal: AnnexError | undefined;
  #begin: (() => void) | undefined;
  /** Called once, when the body exceeds its size or is too slow. */
  onRefused: (() => void) | undefined;
  /** Called once, when the whole body has arrived. */
  onArrived: (() => void) | undefined;
  /**
   * Settles with the first bytes, or when there will be none. Attack: clients that announce a body
   * and send nothing. A call holds a place of the installation, and a hundred such clients would
   * hold them all.
   */
  readonly begun = new Promise<void>((resolve) => {
    this.#begin = resolve;
  });

  constructor(request: IncomingMessage, bytesMax: number, senders: SlowSenders) {
    super();
    this.#request = request;
    this.#bytesMax = bytesMax;
    this.#senders = senders;
    this.on('error', () => undefined);
    // A disconnected client never ends its body. The request's own `close` is not enough: after the
    // answer, Node closes the connection without an event of the request.
    request.socket.once('close', this.#onClose);
    request.pipe(this);
    this.#watched = senders.watch(this);
    if (request.socket.destroyed) this.#onClose();
  }

  get sentBytes(): number {
    return this.#bytes;
  }

  /** A client must not look slow because the tenant does not read. */
  get isAwaited(): boolean {
    return !this.writableNeedDrain;
  }

  tooSlow(): void {
    this.#refuse(tooSlow());
  }

  /**
   * Ends the body after a call without an answer. What still arrives is dropped.
   *
   * @throws AnnexError REQUEST_TOO_LARGE or REQUEST_TOO_SLOW if that ended the call
   */
  finish(): void {
    this.destroy();
    if (this.#refusal) throw this.#refusal;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#begin?.();
    this.#bytes += chunk.byteLength;
    if (this.#bytes <= this.#bytesMax) done(null, chunk);
    else this.#refuse(tooLarge(this.#bytesMax));
  }

  /** Whether the client has not sent all of it yet. */
  get isComing(): boolean {
    return !this.#request.complete;
  }

  override _flush(done: TransformCallback): void {
    this.#begin?.();
    this.onArrived?.();
    this.#senders.forget(this.#watched);
    done();
  }

  readonly #onClose = (): void => {
    if (!this.#request.complete) this.destroy(new Error('The client disconnected.'));
  };

  #refuse(refusal: AnnexError): void {
    this.#refusal = refusal;
    this.onRefused?.();
    this.destroy(refusal);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#begin?.();
    this.#senders.forget(this.#watched);
    // What still arrives is dropped.
    this.#request.socket.off('close', this.#onClose);
    this.#request.unpipe(this);
    this.#request.resume();
    done(error);
  }
}
