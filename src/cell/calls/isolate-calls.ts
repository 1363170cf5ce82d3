/**
 * The open calls of one isolate, by id: which of them end with the entry that runs, whether any is
 * a foreground call, and the account of the script while it loads. An isolate is scheduled by the
 * most urgent of its calls. Holds, decides nothing.
 */
import type { Outcome } from '../../protocol/wire.ts';
import type { CellCall } from './cell-call.ts';

/**
 * Id of the loading script's account among the calls of its isolate; ids of the host's calls begin
 * at 1.
 */
export const LOADER_ID = 0;

/** A call that is over as soon as its entry has been charged. */
export interface Finishing {
  readonly call: CellCall;
  readonly outcome: Outcome;
  readonly detail: string;
}

const NONE: readonly Finishing[] = [];

export class IsolateCalls extends Map<number, CellCall> {
  #foreground = 0;
  #finishing: Finishing[] = [];
  /**
   * The script's own account while it loads: its timers and CPU outlive the call that made the load
   * necessary.
   */
  loader: CellCall | undefined;
  /** When the last call came, and the last foreground call. */
  lastAt = Number.NEGATIVE_INFINITY;
  foregroundAt = Number.NEGATIVE_INFINITY;

  /** Adds a call that begins. */
  add(call: CellCall): void {
    this.set(call.id, call);
    this.lastAt = call.startedAt;
    if (call.background) return;
    this.#foreground += 1;
    this.foregroundAt = call.startedAt;
  }

  /** Notes that a call is over as soon as its entry has been charged. */
  finish(call: CellCall, threw: boolean, detail: string): void {
    this.#finishing.push({ call, outcome: threw ? 'exception' : 'ok', detail });
  }

  /**
   * The calls that are over with the entry that was charged last, in order; each is returned once.
   */
  takeFinished(): readonly Finishing[] {
    if (this.#finishing.length === 0) return NONE;
    const finished = this.#finishing;
    this.#finishing = [];
    return finished;
  }

  override delete(id: number): boolean {
    if (this.get(id)?.background === false) this.#foreground -= 1;
    return super.delete(id);
  }

  /**
   * Whether all of them are background calls. False without calls: what ended calls have left
   * behind is not background work.
   */
  get background(): boolean {
    return this.#foreground === 0 && this.size > 0;
  }
}
