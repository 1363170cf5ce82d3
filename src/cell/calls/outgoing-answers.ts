/**
 * The large answers of one isolate that are on their way to the host.
 *
 * A large answer stays in the isolate's heap until the host has taken it. Calls that begin
 * meanwhile, each with as large an answer, would fill the heap: so none begins while these answers
 * are together over a part of it.
 */
import type { CellCall } from './cell-call.ts';

/** Part of the heap that answers may take before further calls wait. */
const HEAP_SHARE = 0.25;
const MIB = 1024 * 1024;

export class OutgoingAnswers {
  readonly #bytesMax: number;
  readonly #leaving = new Map<CellCall, number>();
  #bytes = 0;

  constructor(isolateHeapMib: number) {
    this.#bytesMax = isolateHeapMib * MIB * HEAP_SHARE;
  }

  /**
   * Whether a further call may begin. @param alone the isolate has no other entry that may need as
   * much
   */
  mayBegin(alone: boolean): boolean {
    return this.#bytes === 0 || (alone && this.#bytes <= this.#bytesMax);
  }

  /**
   * The answer of a call begins to leave. @param length of its body as the isolate claims it: a lie
   * harms no other isolate
   */
  add(call: CellCall, length: unknown): void {
    if (!Number.isSafeInteger(length) || (length as number) <= 0) return;
    this.delete(call);
    this.#leaving.set(call, length as number);
    this.#bytes += length as number;
  }

  /** A call is over. */
  delete(call: CellCall): void {
    this.#bytes -= this.#leaving.get(call) ?? 0;
    this.#leaving.delete(call);
  }
}
