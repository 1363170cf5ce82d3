/**
 * Host side of the process of one upload: sends one request at a time. Each ends with one answer, a
 * problem of the upload, or a platform error.
 *
 * Messages are bounded frames, not Node's built-in IPC: V8's serialization format is not safe for
 * hostile bytes. An unrequested or malformed answer ends the process.
 */

import { AnnexError } from '../../errors.ts';
import { hostBusy, limitProblem, type Problem } from '../../model/problem.ts';
import { FrameReader, FrameWriter } from '../../protocol/frames.ts';
import type { LaunchedProcess, Launcher } from '../confinement/launch.ts';
import { openParcel, type Parcel, packParcel } from './bundler-message.ts';
import { BUNDLER_LAUNCH } from './bundler-program.ts';
import type { answerBounds } from './bundler-wire.ts';

export interface BundlerChildDeps {
  readonly launcher: Pick<Launcher, 'launch'>;
  /** CPU for all requests together, of the process and those that it starts. */
  readonly cpuMsMax: number;
  /** Time by the clock that an upload has in any case. */
  readonly wallMsMin: number | undefined;
  readonly bounds: ReturnType<typeof answerBounds>;
  readonly signal: AbortSignal | undefined;
}

/** Outcome of a request: a message, or a problem of the upload. */
export type Answer = { readonly parcel: Parcel } | { readonly problem: Problem };

/**
 * Why the process ended: it died (`late` false), used up its CPU (`late` true), or an error to
 * throw (`cause`).
 */
type Over = { readonly late: boolean } | { readonly cause: unknown };

/** How often its CPU is read. */
const LOOK_MS = 100;
/**
 * How many times its CPU an upload may take by the clock, and how long in any case. It bounds a
 * process that waits; on a busy machine it says nothing of the upload.
 */
const WALL_TIMES = 6;
const WALL_MS_MIN = 60_000;

/** One request to the process. */
export interface UploadRequest {
  readonly name: 'read' | 'bundle';
  readonly value: unknown;
  readonly blobs: readonly Uint8Array[];
  /** File and hint of the problem for CPU that is used up. */
  readonly place: { readonly file?: string; readonly hint: string };
  /** Makes the problem for a process that dies during this request. */
  died(): Problem;
}

/** The request that awaits its answer. */
interface Question {
  readonly request: UploadRequest;
  readonly answered: PromiseWithResolvers<Answer>;
}

export class BundlerChild {
  readonly #deps: BundlerChildDeps;
  readonly #launched: LaunchedProcess;
  readonly #writer: FrameWriter;
  readonly #look: NodeJS.Timeout;
  readonly #startedAt = performance.now();
  /** CPU when the process was ready: its start is not the upload's. */
  #cpuBeforeMs = 0;
  readonly #up = Promise.withResolvers<void>();
  readonly #abort = () => this.#end(this.#deps.signal?.reason);
  #question: Question | undefined;
  /** Set once, when the process ends; every later request gets it as its outcome. */
  #over: Over | undefined;
  #ready = false;

  constructor(deps: BundlerChildDeps) {
    this.#deps = deps;
    const { launcher, bounds, signal } = deps;
    this.#launched = launcher.launch(BUNDLER_LAUNCH);
    const { pipe, child } = this.#launched;
    this.#writer = new FrameWriter(pipe);
    const reader = new FrameReader(bounds, (head, body) => this.#receive(head, body));
    pipe.on('data', (chunk: Buffer) => {
      if (this.#over === undefined && !reader.push(chunk)) this.#breach('sent a broken frame');
    });
    // A write to a process that has just died; the `close` handler reports the exit.
    pipe.on('error', () => undefined);
    child.on('error', (cause) => this.#end(cannotStart(cause)));
    // Not `exit`: the last message may still be in the pipe.
    child.on('close', (code, ended) => this.#died(code, ended));
    this.#look = setInterval(() => this.#checkTime(), LOOK_MS);
    signal?.addEventListener('abort', this.#abort, { once: true });
    this.#up.promise.catch(() => undefined);
  }

  /**
   * Sends one request and waits for its answer.
   *
   * @throws AnnexError where the process cannot be started or violates the protocol; the reason of
   * the signal
   */
  async ask(request: UploadRequest): Promise<Answer> {
    const answered = Promise.withResolvers<Answer>();
    const question = { request, answered };
    this.#question = question;
    if (this.#over !== undefined) this.#answerWith(this.#over, question);
    else if (this.#ready) this.#send(request);
    else {
      const send = () => this.#over === undefined && this.#send(request);
      this.#up.promise.then(send, () => undefined);
    }
    return answered.promise;
  }

  #send({ name, value, blobs }: UploadRequest): void {
    this.#writer.send(...packParcel(name, value, blobs));
  }

  /** Ends the process and its children. */
  end(): void {
    this.#settle({ cause: new Error('The upload is over.') });
  }

  #receive(head: unknown, body: Buffer): void {
    if (this.#over !== undefined) return;
    const parcel = openParcel(head, body, this.#deps.bounds.jsonBytes);
    if (parcel === undefined) return this.#breach('sent a malformed message');
    if (parcel.name === 'ready' && !this.#ready) {
      this.#ready = true;
      this.#cpuBeforeMs = this.#launched.cpuMs() ?? 0;
      return this.#up.resolve();
    }
    const question = this.#question;
    if (question === undefined || parcel.name !== ANSWERS[question.request.name])
      return this.#breach('sent an unexpected answer');
    this.#question = undefined;
    question.answered.resolve({ parcel });
  }

  /** Attack: an upload takes over its process and sends unrequested messages. */
  #breach(how: string): void {
    const detail = `The process of an upload ${how}.`;
    this.#end(new AnnexError('INTERNAL_ERROR', 'The upload could not be read.', { detail }));
  }

  /** Only CPU is the upload's: other work of the machine makes it wait. */
  #checkTime(): void {
    const { cpuMsMax, wallMsMin = WALL_MS_MIN } = this.#deps;
    const cpuMs = this.#ready ? (this.#launched.cpuMs() ?? 0) - this.#cpuBeforeMs : 0;
    const wallMsMax = Math.max(WALL_TIMES * cpuMsMax, wallMsMin);
    if (cpuMs > cpuMsMax) this.#settle({ late: true });
    else if (performance.now() - this.#startedAt > wallMsMax)
      this.#end(hostBusy(`The upload was not bundled in ${wallMsMax} ms`));
  }

  #died(code: number | null, ended: NodeJS.Signals | null): void {
    const { how, signal } = this.#launched.endOf(code, ended);
    // Its own bounds end it in other ways: a kernel that runs out of memory, or an operator, did.
    if (signal === 'SIGKILL') this.#end(hostBusy('The process that bundled the upload was killed'));
    else if (!this.#ready) this.#end(cannotStart(how));
    else this.#settle({ late: false });
  }

  #end(cause: unknown): void {
    this.#settle({ cause });
  }

  #settle(over: Over): void {
    if (this.#over !== undefined) return;
    this.#over = over;
    clearInterval(this.#look);
    this.#deps.signal?.removeEventListener('abort', this.#abort);
    this.#launched.kill();
    this.#launched.pipe.destroy();
    if (this.#question !== undefined) this.#answerWith(over, this.#question);
  }

  #answerWith(over: Over, { answered, request }: Question): void {
    if ('cause' in over) return answered.reject(over.cause);
    const late = { name: 'bundleMs', max: this.#deps.cpuMsMax } as const;
    return answered.resolve({ problem: over.late ? limitProblem(late, request.place) : request.died() });
  }
}

/** Request name → name of its answer. */
const ANSWERS: Readonly<Record<UploadRequest['name'], string>> = { read: 'read', bundle: 'bundled' };

const cannotStart = (cause: unknown): AnnexError =>
  new AnnexError('INTERNAL_ERROR', 'The bundler cannot be started.', { detail: cause });
