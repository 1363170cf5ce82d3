/**
 * Answers to Web Crypto jobs on their way into an isolate: all that are ready at the end of a turn
 * of the event loop enter together, because an entry costs more than a small job.
 *
 * It holds them for one turn at most, and drops those of calls that are over.
 */
import type { CellCall } from '../calls/cell-call.ts';

/** Three values for each answer: the number of its job, its JSON, and its bytes. */
export type Answers = (number | string | Uint8Array | undefined)[];

const VALUES = 3;

export class CryptoAnswers {
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
