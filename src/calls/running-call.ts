/**
 * One call while a cell has it: what its cell says of it, and what becomes of that.
 *
 * Made once for each call, on the hot path: its streams and its fetches cost nothing until there are any.
 */

import type { CellProcess } from '../cells/cell-process.ts';
import type { CellTask, OtherMessage } from '../cells/in-flight-task.ts';
import type { Egress } from '../egress/egress.ts';
import type { AnnexError } from '../errors.ts';
import type { LimitName, Limits } from '../limits.ts';
import { scriptKey, type Target } from '../model/target.ts';
import type { CallEnd, FetchMessage, LogLevel, StreamMessage } from '../protocol/wire.ts';
import type { Caller, CallObserver, CallResult, Envelope } from './call.ts';
import { CallTraffic } from './call-traffic.ts';
import type { Collecting } from './incoming-body.ts';
import { limitMet } from './outcome.ts';
import type { RefusalPace } from './refusal-pace.ts';

/** What a call needs while it runs. */
export interface RunningCallParts {
  readonly egress: Pick<Egress, 'fetch'>;
  readonly observer: Pick<CallObserver, 'log'>;
  /** Bodies of all calls that come in pieces. */
  readonly collecting: Collecting;
  /** How quickly installations hear of refused fetches. */
  readonly refusals: RefusalPace;
  /** It is with this cell now. */
  placed(call: RunningCall, cell: CellProcess): void;
  /** Told before its caller has its answer. */
  ended(call: RunningCall, end: CallEnd): void;
}

export class RunningCall implements CellTask {
  readonly id: number;
  readonly target: Target;
  readonly requestId: string;
  readonly owner: string;
  readonly script: string;
  readonly wallMs: number;
  readonly startedAt = performance.now();
  readonly #parts: RunningCallParts;
  readonly caller: Caller;
  readonly #resolve: (result: CallResult) => void;
  #cell: CellProcess;
  #traffic: CallTraffic | undefined;
  #answered = false;
  /** Its answer is coming in pieces. */
  #collecting = false;
  /** Its client sends the body, or reads the answer, while it runs: at what pace is up to the client. */
  clientPaced = false;
  #refused: AnnexError | undefined;

  constructor(
    id: number,
    target: Target,
    requestId: string,
    caller: Caller,
    cell: CellProcess,
    parts: RunningCallParts,
    resolve: (result: CallResult) => void,
  ) {
    this.id = id;
    this.target = target;
    this.requestId = requestId;
    this.owner = target.installationId;
    this.script = scriptKey(target.integration, target.version);
    this.wallMs = target.limits.callWallMs;
    this.caller = caller;
    this.#cell = cell;
    this.#parts = parts;
    this.#resolve = resolve;
  }

  /** Gives it to its cell. */
  begin({ event, environment, body }: Envelope): void {
    const { id, target, script } = this;
    const { callCpuMs: cpuMs, callWallMs: wallMs, firstByteMs } = target.limits;
    const whole = body instanceof Uint8Array ? body : undefined;
    this.caller.onGone = () => this.#tell({ t: 'cancel', id });
    this.#cell.give(
      {
        t: 'call',
        id,
        isolate: target.isolate,
        script,
        url: `${target.publicEndpoint}/v1`,
        cpuMs,
        wallMs,
        firstByteMs,
        eventBytes: event.byteLength,
        environmentBytes: environment.byteLength,
        ...(whole && { bodyBytes: whole.byteLength }),
        ...(body && !whole && { more: true }),
        ...(this.caller.background && { background: true }),
        ...(target.isolateLimits && { limits: target.isolateLimits }),
      },
      this,
      event,
      environment,
      ...(whole ? [whole] : []),
    );
    if (body === undefined || body instanceof Uint8Array) return;
    this.clientPaced = true;
    this.#open().upload(body);
  }

  log(level: LogLevel, text: string): void {
    this.#parts.observer.log(this.target, this.requestId, level, text);
  }

  placed(cell: CellProcess): void {
    this.#cell = cell;
    this.#parts.placed(this, cell);
  }

  response(status: number, headers: [string, string][], bytes: Buffer, more?: true | 'whole'): boolean {
    // Attack: a cell that was taken over replaces an answer, or opens the stream of the first one anew.
    if (this.#answered || this.#collecting) return false;
    if (more === 'whole') {
      this.#collecting = true;
      this.#open().collectAnswer((body) => {
        this.#answered = true;
        this.#resolve({ outcome: 'ok', response: { status, headers, body } });
      });
      return true;
    }
    this.#answered = true;
    this.clientPaced ||= more === true;
    const body = more ? this.#open().answer() : bytes;
    this.#resolve({ outcome: 'ok', response: { status, headers, body } });
    return true;
  }

  refuse(refusal: AnnexError): void {
    this.#refused = refusal;
    this.end({ outcome: 'loadShed', cpuMs: 0, detail: refusal.message });
  }

  stream(message: StreamMessage, bytes: Buffer): boolean {
    return this.#open().stream(message, bytes);
  }

  fetch(message: FetchMessage, body: Buffer): boolean {
    return this.#open().fetch(message, body);
  }

  end(end: CallEnd): void {
    this.caller.onGone = undefined;
    this.#traffic?.end(end.outcome);
    const whole = withMet(end, this.#traffic?.met);
    this.#parts.ended(this, whole);
    if (this.#answered) return;
    const refusal = this.#refused;
    this.#resolve(refusal ? { outcome: 'loadShed', refusal } : unanswered(whole, this.target.limits));
  }

  #tell(message: OtherMessage, ...bytes: Uint8Array[]): void {
    this.#cell.tell(message, ...bytes);
  }

  #open(): CallTraffic {
    this.#traffic ??= new CallTraffic({
      id: this.id,
      egress: this.#parts.egress,
      collecting: this.#parts.collecting,
      refusals: this.#parts.refusals,
      owner: this.owner,
      ...(this.target.egress && { hosts: this.target.egress }),
      depth: this.caller.depth,
      limits: this.target.limits,
      tell: (message, ...bytes) => this.#tell(message, ...bytes),
      log: (level, text) => this.log(level, text),
    });
    return this.#traffic;
  }
}

/** The end of a call with what its fetches have met, of which its cell knows nothing. */
const withMet = (end: CallEnd, met: ReadonlySet<LimitName> | undefined): CallEnd =>
  met && met.size > 0 ? { ...end, met: [...(end.met ?? []), ...met] } : end;

/** The result of a call that has ended without an answer. */
function unanswered(end: CallEnd, limits: Limits): CallResult {
  const limit = limitMet(end, limits);
  return { outcome: end.outcome, ...(end.detail && { detail: end.detail }), ...(limit && { limit }) };
}
