/**
 * The calls of one isolate that have not ended, by their ids, and whether any of them is a foreground call. An isolate is
 * scheduled by the most urgent of its calls. Holds, decides nothing.
 */
import type { CellCall } from './cell-call.ts';

export class IsolateCalls extends Map<number, CellCall> {
  #foreground = 0;
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

  override delete(id: number): boolean {
    if (this.get(id)?.background === false) this.#foreground -= 1;
    return super.delete(id);
  }

  /** Whether all of them are background calls. Work that ended calls have left behind is not. */
  get background(): boolean {
    return this.#foreground === 0 && this.size > 0;
  }
}
