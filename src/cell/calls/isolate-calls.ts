/**
 * The calls of one isolate that have not ended, by their ids, which of them are about to, and whether any of them is a
 * foreground call. An isolate is scheduled by the most urgent of its calls. Holds, decides nothing.
 */
import type { Outcome } from '../../protocol/wire.ts';
import type { CellCall } from './cell-call.ts';

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
  /** When the last call came, and the last foreground call. */
  lastAt = Number.NEGATIVE_INFINITY;
  foregroundAt = Number.NEGATIVE_INFINITY;

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

  /** The calls that are over with the entry that has been charged just now, in order; each is noted once. */
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

  /** Whether all of them are background calls. Work that ended calls have left behind is not. */
  get background(): boolean {
    return this.#foreground === 0 && this.size > 0;
  }
}
