/**
 * Checks the calls of one isolate against their limits on CPU and wall time, when the watchdog
 * asks, and ends what is over.
 *
 * Nothing but the end of the isolate stops an entry that runs, and that costs every other call in
 * it. So a call that passes a limit in the middle of an entry has until the next check: where the
 * entry has ended by then, the call ends alone. It decides which call ends and why; the isolate
 * carries that out.
 */
import type { Outcome } from '../../protocol/wire.ts';
import type { CellCall, EndReason } from '../calls/cell-call.ts';
import type { IsolateCalls } from '../calls/isolate-calls.ts';
import type { EntryQueue } from './entry-queue.ts';
import type { Watchdog, Watched } from './watchdog.ts';

/** The isolate whose calls are checked. */
export interface LimitedIsolate {
  readonly calls: IsolateCalls;
  readonly disposed: boolean;
  readonly loading: boolean;
  /** Undefined until a blank isolate has been taken. */
  readonly entries: EntryQueue | undefined;
  /** Ends one call; the isolate lives on. */
  abandon(call: CellCall, outcome: Outcome, reason: EndReason): void;
  /** Ends the isolate with all its calls. @param culprit the call that is the reason */
  end(outcome: Outcome, reason: EndReason, culprit?: CellCall): void;
}

export class CpuAndWallLimits implements Watched {
  readonly #isolate: LimitedIsolate;
  readonly #watchdog: Pick<Watchdog, 'lateMs'>;
  readonly #openedAt = performance.now();
  readonly #lateBeforeMs: number;

  constructor(isolate: LimitedIsolate, watchdog: Pick<Watchdog, 'lateMs'>) {
    this.#isolate = isolate;
    this.#watchdog = watchdog;
    this.#lateBeforeMs = watchdog.lateMs;
  }

  get running(): boolean {
    return this.#isolate.entries?.running !== undefined;
  }

  checkCpu(now: number, share: number): void {
    const { disposed, entries } = this.#isolate;
    const call = entries?.running;
    if (disposed || call === undefined || !entries?.outOfCpu(now, share)) return;
    this.#endRunning(call, 'exceededCpu', call.overdrawn);
  }

  /** Counts an entry that runs as long-running, and ends nothing. */
  overrun(now: number): void {
    this.#isolate.entries?.outOfCpu(now, 1);
  }

  checkWall(now: number): void {
    const isolate = this.#isolate;
    const { loader } = isolate.calls;
    for (const call of isolate.calls.values()) {
      const reason = call.overdue(now);
      if (isolate.disposed || reason === undefined) continue;
      if (isolate.entries?.running === call) this.#endRunning(call, 'exceededWallTime', reason);
      else isolate.abandon(call, this.#lateOutcome(now), reason);
    }
    // A load has as much time as a call, whenever the calls that wait for it began: a late one ends
    // alone, above.
    const late = isolate.loading ? loader?.overdue(now) : undefined;
    if (late !== undefined) isolate.end(this.#lateOutcome(now), late, loader);
  }

  /**
   * The outcome of a call that is late. A script that waits for something while it loads has taken
   * the time itself, unless its cell had no core for most of it. One that is to be compiled or
   * executed, and has not used up its CPU, has got no core.
   */
  #lateOutcome(now: number): Outcome {
    const { loading, entries } = this.#isolate;
    if (!loading) return 'exceededWallTime';
    const starvedMs = this.#watchdog.lateMs - this.#lateBeforeMs;
    const isStarved = 2 * starvedMs > now - this.#openedAt;
    return isStarved || entries?.idle !== true ? 'internalError' : 'exceededWallTime';
  }

  /**
   * A call has used up its CPU, and no entry of it runs. A script that is loading has nothing else
   * to end.
   */
  overdrawn(call: CellCall): void {
    const isolate = this.#isolate;
    if (call === isolate.calls.loader && isolate.loading) isolate.end('exceededCpu', call.overdrawn);
    else if (isolate.calls.has(call.id)) isolate.abandon(call, 'exceededCpu', call.overdrawn);
  }

  /**
   * Marks a call that is over a limit in the middle of an entry; at the second check, ends the
   * isolate.
   */
  #endRunning(call: CellCall, outcome: Outcome, reason: EndReason): void {
    if (call === this.#isolate.calls.loader) this.#isolate.end(outcome, reason);
    else if (call.pendingEnd?.outcome === outcome) this.#isolate.end(outcome, reason, call);
    else call.pendingEnd = { outcome, reason };
  }
}
