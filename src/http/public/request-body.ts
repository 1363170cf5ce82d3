/**
 * Reads the body of one request into memory, within the door's limit and the process's budget.
 *
 * The framework's own reader is not used: it knows one limit for all requests of a route, no budget, and refuses content
 * types that are none of the host's business. What is read here is bytes; what they mean is up to the doors.
 */
import type { IncomingMessage } from 'node:http';
import { AnnexError } from '../../errors.ts';
import { limitError } from '../../model/limit-met.ts';
import type { Sender, SlowSenders } from '../slow-senders.ts';
import type { BodyShare } from './body-budget.ts';

/** Chunks that are kept one by one before they are joined. */
const LOOSE_CHUNKS_MAX = 256;
const NOTHING = Buffer.alloc(0);
/**
 * A body that comes in one piece and is no larger than this is not counted: it is held while its call waits or runs, of which
 * there are only so many, and counting it would cost more than anything else that is done with it.
 */
const UNCOUNTED_BYTES_MAX = 16 * 1024;

/**
 * Reads the body (empty where there is none) and lends it to `use`. Its bytes go back to the budget when `use` has
 * settled or reading has failed: one `finally`, so every path gives back exactly once.
 *
 * @throws AnnexError REQUEST_TOO_LARGE, REQUEST_TOO_SLOW, REQUEST_SHED, or CALL_CANCELED where the client went away; what `use` throws
 */
export async function withBody<T>(
  request: IncomingMessage,
  bytesMax: number,
  share: BodyShare,
  senders: SlowSenders,
  use: (body: Buffer) => Promise<T>,
): Promise<T> {
  if (!hasBody(request)) return use(NOTHING);
  try {
    return await use(await read(request, bytesMax, share, senders));
  } finally {
    share.giveBack();
  }
}

/** A body that is announced as too large is never read. */
export function refuseAnnouncedBody({ headers }: IncomingMessage, bytesMax: number): void {
  const bytes = Number(headers['content-length'] ?? 0);
  if (bytes > bytesMax) throw tooLarge(bytesMax, bytes);
}

/** Bodies that announce no more than this are read before the call begins: a slow sender holds no place of the installation's. */
const READ_AHEAD_BYTES_MAX = 64 * 1024;

/** Whether a request of raw traffic is handed over while its body is still coming. */
export const isStreamed = (request: IncomingMessage): boolean =>
  hasBody(request) && !(Number(request.headers['content-length']) <= READ_AHEAD_BYTES_MAX);

/** Methods whose requests are handed over without a body (REFERENCE D3; RFC 9110, section 9.3.8): none is read. */
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
    // A client that went away while the head was looked at: its `close` has been, and would be waited for in vain.
    if (request.destroyed) return onClose();
    request.on('data', onData).on('end', onEnd).on('close', onClose);

    function settle(): void {
      if (watched) senders.forget(watched);
      share.settle();
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    }
    function refuse(error: AnnexError): void {
      settle();
      // What is still on its way is dropped as it comes; the answer closes the connection.
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
      // Of most bodies this is all there is: the others are up to their clients from now on.
      if (!isCounted && !isWhole)
        share.await({ movedBytes: () => sender.sentBytes, giveWay: () => sender.tooSlow() });
      isCounted = true;
      return true;
    }
    function onEnd(): void {
      settle();
      resolve(sender.join());
    }
    function onClose(): void {
      settle();
      reject(new AnnexError('CALL_CANCELED', 'The client went away before its body was there.'));
    }
  });
}

/**
 * A body as it comes. One in chunks of one byte costs its sender 6 bytes each and would cost the host an object
 * each, a hundred times what the budget counts: so loose chunks are joined once there are many.
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

  /** The whole body. One chunk is the body as it is: Node has already copied it out of the socket's memory. */
  join(): Buffer {
    const [first = NOTHING, ...rest] = [...this.#joined, ...this.#loose];
    return rest.length === 0 ? first : Buffer.concat([first, ...rest], this.sentBytes);
  }
}

/** @param used what it has at least, where that is known */
export const tooLarge = (bytesMax: number, used?: number): AnnexError =>
  limitError('REQUEST_TOO_LARGE', {
    name: 'requestBodyBytes',
    max: bytesMax,
    ...(used !== undefined && { used }),
  });
export const tooSlow = (): AnnexError =>
  new AnnexError('REQUEST_TOO_SLOW', 'The body of the request came too slowly.');
/** @param share that has just refused to take more */
export const shed = ({ limit }: BodyShare): AnnexError =>
  limit
    ? limitError('REQUEST_SHED', limit)
    : new AnnexError('REQUEST_SHED', 'Too many bodies are being held.');
