/**
 * Web Crypto jobs of isolates: schedules them, charges each to its call, and drops those of calls
 * that are over.
 *
 * Nothing can interrupt a job, so each is bounded (`crypto-request.ts`) and few run at once: an
 * isolate runs one at a time, isolates take turns, and the search for RSA primes, the only long
 * job, has a thread to itself. So a tenant that floods waits in its own queue. Jobs use libuv's
 * pool of four threads, which a cell uses for nothing else; small ones run on
 * the main thread, without a round trip to another one.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { CellCall } from '../calls/cell-call.ts';
import type { MainThreadUse } from '../isolates/main-thread.ts';
import { type Runnable, Slots } from '../isolates/slots.ts';
import { CryptoError, toCryptoError } from './crypto-errors.ts';
import { CryptoKeys, type MadeKey } from './crypto-keys.ts';
import { type CryptoResult, isLong, perform } from './crypto-operations.ts';
import { CryptoRequest, HASH_BITS } from './crypto-request.ts';

/** One of the pool's four threads is for primes. */
const SLOTS_MAX = 3;
/** The prelude has fewer in flight; here it stops a prelude that has been taken over. */
const JOBS_PER_CALL_MAX = 32;
/** Bytes of all jobs that wait in a cell. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;
const NS_PER_MS = 1e6;
const CHECK_AFTER_MS = 5;
/** How long small jobs of one isolate run in a row, before other isolates have their turn. */
const SMALL_MS_IN_A_ROW = 1;
/**
 * Time of the main thread for any job: it is read, begun, metered, described and returned there.
 */
const JOB_MAIN_THREAD_MS = 0.15;
/** The same for a small one, apart from its work. */
const SMALL_JOB_MAIN_THREAD_MS = 0.02;
/** The same for each byte of it: it is copied for Node's own thread, and its memory is freed. */
const JOB_MAIN_THREAD_MS_PER_BYTE = 5e-7;

/** Receives the results of an isolate's jobs. */
export interface JobListener {
  /** Jobs of a call are done. */
  done(call: CellCall, answers: Answers): void;
  /** The call has used up its CPU in jobs. */
  overdrawn(call: CellCall): void;
}

/** Slots and counts that all isolates of a cell share. */
export class CryptoThreads {
  readonly slots = new Slots(Math.min(SLOTS_MAX, availableParallelism()), 0);
  readonly primes = new Slots(1, 0);
  waitingBytes = 0;
}

interface Job {
  readonly call: CellCall;
  readonly number: number;
  /** Or the error that answers it. */
  readonly request: CryptoRequest | CryptoError;
  readonly byteLength: number;
  /** Its call is over: it runs to its end, and its result is dropped. */
  over: boolean;
}

/** The jobs of one isolate. */
export class CryptoJobs {
  readonly #threads: CryptoThreads;
  readonly #short: JobQueue;
  readonly #long: JobQueue;
  readonly #answers: CryptoAnswers;
  /** The isolate's account of the main thread. */
  readonly mainThread: MainThreadUse;

  constructor(threads: CryptoThreads, mainThread: MainThreadUse, listener: JobListener) {
    this.#threads = threads;
    this.mainThread = mainThread;
    const { overdrawn } = listener;
    this.#answers = new CryptoAnswers(listener.done);
    const shared = { threads, mainThread, keys: new CryptoKeys(), answers: this.#answers, overdrawn };
    this.#short = new JobQueue(threads.slots, shared);
    this.#long = new JobQueue(threads.primes, shared);
  }

  /** Takes a job as an isolate has emitted it. Never throws. */
  submit(call: CellCall, number: unknown, text: unknown, bytes: unknown): void {
    if (!Number.isSafeInteger(number)) return;
    // A refusal takes its turn too: answers must not pile up faster than jobs do.
    const waiting = this.#short.count(call) + this.#long.count(call) + this.#answers.count(call);
    if (waiting >= JOBS_PER_CALL_MAX) return;
    const { request, byteLength, long } = this.#read(text, bytes);
    const queue = long ? this.#long : this.#short;
    queue.push({ call, number: number as number, request, byteLength, over: false });
  }

  /** Never throws, like all that reads emissions. */
  #read(text: unknown, bytes: unknown): Pick<Job, 'request' | 'byteLength'> & { long: boolean } {
    try {
      const request = new CryptoRequest(text, bytes);
      const { byteLength } = bytes as ArrayBuffer;
      if (this.#threads.waitingBytes + byteLength > WAITING_BYTES_MAX)
        throw new CryptoError('OperationError', 'Too many bytes are waiting for Web Crypto');
      return { request, byteLength, long: isLong(request) };
    } catch (thrown) {
      return { request: toCryptoError(thrown), byteLength: 0, long: false };
    }
  }

  /** Drops the waiting jobs and answers of a call that is over. */
  drop(call: CellCall): void {
    this.#short.drop((job) => job.call === call);
    this.#long.drop((job) => job.call === call);
    this.#answers.drop(call);
  }

  /** The isolate has been disposed of. */
  close(): void {
    this.#short.drop(() => true);
    this.#long.drop(() => true);
    this.#answers.close();
  }
}

/** What both queues of an isolate share. */
interface JobQueueDeps {
  readonly threads: CryptoThreads;
  readonly mainThread: MainThreadUse;
  readonly keys: CryptoKeys;
  readonly answers: CryptoAnswers;
  readonly overdrawn: JobListener['overdrawn'];
}

/** A queue of jobs of one isolate, of which one runs at a time. */
class JobQueue implements Runnable {
  readonly #threads: CryptoThreads;
  readonly #slots: Slots;
  readonly #mainThread: MainThreadUse;
  readonly #keys: CryptoKeys;
  readonly #answers: CryptoAnswers;
  readonly #overdrawn: JobListener['overdrawn'];
  #waiting: Job[] = [];
  #running: Job | undefined;
  /** Runs while the isolate has to wait for its share of the main thread. */
  #pause: NodeJS.Timeout | undefined;

  constructor(slots: Slots, { threads, mainThread, keys, answers, overdrawn }: JobQueueDeps) {
    this.#threads = threads;
    this.#slots = slots;
    this.#mainThread = mainThread;
    this.#keys = keys;
    this.#answers = answers;
    this.#overdrawn = overdrawn;
  }

  /** Jobs of a call that wait or run. */
  count(call: CellCall): number {
    let count = this.#running?.call === call ? 1 : 0;
    for (const job of this.#waiting) if (job.call === call) count += 1;
    return count;
  }

  /** Queues a job. */
  push(job: Job): void {
    this.#threads.waitingBytes += job.byteLength;
    this.#waiting.push(job);
    this.#request();
  }

  /** Requests a slot, once the isolate may use the main thread again. */
  #request(): void {
    if (this.#running !== undefined || this.#pause !== undefined) return;
    const waitMs = this.#mainThread.waitMs(performance.now());
    if (waitMs === 0) return this.#slots.request(this);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      if (this.#waiting.length > 0) this.#request();
    }, waitMs);
  }

  /** Drops the waiting jobs that are over; the result of a running one will be dropped. */
  drop(over: (job: Job) => boolean): void {
    for (const job of this.#waiting) if (over(job)) this.#threads.waitingBytes -= job.byteLength;
    this.#waiting = this.#waiting.filter((job) => !over(job));
    if (this.#running !== undefined && over(this.#running)) this.#running.over = true;
  }

  /**
   * Called with a slot in hand, which is kept until the job has really ended: its thread is not
   * free before.
   */
  run(): void {
    const began = performance.now();
    while (performance.now() - began < SMALL_MS_IN_A_ROW) {
      const job = this.#waiting.shift();
      if (job === undefined) return this.#slots.release(this);
      this.#threads.waitingBytes -= job.byteLength;
      if (this.#performSmall(job)) continue;
      this.#running = job;
      void this.#perform(job);
      return;
    }
    this.#slots.release(this);
    setImmediate(() => {
      if (this.#waiting.length > 0) this.#request();
    });
  }

  /** Runs a small job at once. @returns false where the job is not small */
  #performSmall({ call, number, request }: Job): boolean {
    const began = performance.now();
    let answer: string;
    let bytes: Uint8Array | undefined;
    try {
      if (request instanceof CryptoError) throw request;
      const result = performSmall(request);
      if (result === undefined) return false;
      bytes = bytesOf(result);
      answer = describe(result);
    } catch (thrown) {
      answer = refusal(thrown);
    }
    const workedMs = performance.now() - began;
    call.cpuNs += workedMs * NS_PER_MS;
    this.#mainThread.add(workedMs + SMALL_JOB_MAIN_THREAD_MS, began);
    this.#answers.add(call, number, answer, bytes);
    if (call.cpuLeftNs < 0) this.#overdrawn(call);
    return true;
  }

  async #perform(job: Job): Promise<void> {
    const { call, number, request } = job;
    const meter = new JobMeter(call, () => {
      if (!job.over) this.#overdrawn(call);
    });
    let answer: string;
    let bytes: Uint8Array | undefined;
    try {
      if (request instanceof CryptoError) throw request;
      const began = performance.now();
      const performing = perform(request, this.#keys);
      // The work before the job is on a thread of its own: above all, the copy of its bytes.
      const copyMs = job.byteLength * JOB_MAIN_THREAD_MS_PER_BYTE;
      this.#mainThread.add(performance.now() - began + JOB_MAIN_THREAD_MS + copyMs, began);
      const result = await performing;
      bytes = bytesOf(result);
      answer = describe(result);
    } catch (thrown) {
      answer = refusal(thrown);
    }
    meter.stop();
    this.#running = undefined;
    if (!job.over) this.#answers.add(call, number, answer, bytes);
    this.#slots.release(this);
    if (this.#waiting.length > 0) this.#request();
  }
}

/** Charges the time of a job to its call, and reports when that is more than the call may use. */
class JobMeter {
  readonly #call: CellCall;
  readonly #overdrawn: () => void;
  #at = performance.now();
  #used = process.cpuUsage();
  #timer: NodeJS.Timeout | undefined;

  constructor(call: CellCall, overdrawn: () => void) {
    this.#call = call;
    this.#overdrawn = overdrawn;
    this.#watch();
  }

  /** The job has ended. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#charge();
  }

  #watch(): void {
    const leftMs = this.#call.cpuLeftNs / NS_PER_MS;
    this.#timer = setTimeout(
      () => {
        if (this.#charge()) this.#watch();
      },
      Math.max(CHECK_AFTER_MS, leftMs),
    );
  }

  /** @returns whether the call has CPU left */
  #charge(): boolean {
    const now = performance.now();
    const elapsedMs = now - this.#at;
    const { user, system } = process.cpuUsage(this.#used);
    this.#at = now;
    this.#used = process.cpuUsage();
    // A thread that waits for a core uses no CPU: a job cannot have used more than the whole
    // process.
    this.#call.cpuNs += Math.min(elapsedMs, (user + system) / 1_000) * NS_PER_MS;
    if (this.#call.cpuLeftNs >= 0) return true;
    this.#overdrawn();
    return false;
  }
}

function bytesOf({ bytes, keys }: CryptoResult): Uint8Array | undefined {
  if (keys !== undefined) return Buffer.concat(keys.map(({ material }) => material));
  return bytes && new Uint8Array(bytes);
}

function describe({ valid, keys, jwk }: CryptoResult): string {
  const described = keys?.map(({ material, ...key }: MadeKey) => ({ ...key, bytes: material.byteLength }));
  return JSON.stringify({ valid, keys: described, jwk });
}

function refusal(thrown: unknown): string {
  const { name, message } = toCryptoError(thrown);
  return JSON.stringify({ error: name, message });
}

/** Three values for each answer: the number of its job, its JSON, and its bytes. */
export type Answers = (number | string | Uint8Array | undefined)[];

const VALUES = 3;

/**
 * Answers to Web Crypto jobs on their way into an isolate: all that are ready at the end of a turn
 * of the event loop enter together, because an entry costs more than a small job.
 *
 * It holds them for one turn at most, and drops those of calls that are over.
 */
class CryptoAnswers {
  readonly #enter: (call: CellCall, answers: Answers) => void;
  #waiting = new Map<CellCall, Answers>();
  #turn: NodeJS.Immediate | undefined;

  constructor(enter: (call: CellCall, answers: Answers) => void) {
    this.#enter = enter;
  }

  /** Adds an answer; it enters at the end of this turn of the event loop. */
  add(call: CellCall, job: number, answer: string, bytes: Uint8Array | undefined): void {
    const answers = this.#waiting.get(call);
    if (answers) answers.push(job, answer, bytes);
    else this.#waiting.set(call, [job, answer, bytes]);
    this.#turn ??= setImmediate(() => this.#flush());
  }

  /** Answers to the call that have not entered. */
  count(call: CellCall): number {
    return (this.#waiting.get(call)?.length ?? 0) / VALUES;
  }

  /** The call is over. */
  drop(call: CellCall): void {
    this.#waiting.delete(call);
  }

  /** The isolate has been disposed of. */
  close(): void {
    this.#waiting.clear();
    clearImmediate(this.#turn);
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#turn = undefined;
    for (const [call, answers] of waiting) this.#enter(call, answers);
  }
}

/** Data of one small job; SHA-512 takes about 2 ns for a byte. */
const DATA_BYTES_MAX = 4 * 1_024;
/** An HMAC key that is longer than the block of its hash is hashed first. */
const KEY_BYTES_MAX = 1_024;

/**
 * Web Crypto jobs so small that another thread would take longer: hashes and HMAC signatures of a
 * few kilobytes.
 *
 * They run on the cell's main thread, which all its isolates need, so the size of the data bounds
 * each to some microseconds. Unusual requests are left to Node's Web Crypto, which refuses them by
 * its own rules.
 *
 * Runs a small job. @returns its result; undefined where the job is not small
 *
 * @throws CryptoError for members that are missing or invalid
 */
function performSmall(request: CryptoRequest): CryptoResult | undefined {
  switch (request.operation) {
    case 'digest': {
      const { name } = request.algorithm('algorithm').algorithm;
      const data = request.bytes('data');
      if (!isHash(name) || data.byteLength > DATA_BYTES_MAX) return undefined;
      return { bytes: hash(nodeName(name), data, 'buffer') };
    }
    case 'sign': {
      const bytes = hmac(request);
      return bytes && { bytes };
    }
    case 'verify': {
      const bytes = hmac(request);
      const signature = request.bytes('signature');
      return (
        bytes && { valid: signature.byteLength === bytes.byteLength && timingSafeEqual(signature, bytes) }
      );
    }
    default:
      return undefined;
  }
}

/** The HMAC of a request: the signature to make, or the one to compare with. */
function hmac(request: CryptoRequest): Buffer | undefined {
  const { algorithm, type, material } = request.key('key');
  const data = request.bytes('data');
  const { name, hash: by = '', length } = algorithm;
  if (name !== 'HMAC' || request.algorithm('algorithm').algorithm.name !== 'HMAC') return undefined;
  if (type !== 'secret' || !isHash(by) || data.byteLength > DATA_BYTES_MAX) return undefined;
  if (material.byteLength === 0 || material.byteLength > KEY_BYTES_MAX) return undefined;
  // A key with fewer bits than its bytes have is left to Node.
  if (length !== undefined && length !== material.byteLength * 8) return undefined;
  return createHmac(nodeName(by), material).update(data).digest();
}

const isHash = (name: string): boolean => Object.hasOwn(HASH_BITS, name);
/** `SHA-256` is `sha256`. */
const nodeName = (name: string): string => name.replace('-', '').toLowerCase();
