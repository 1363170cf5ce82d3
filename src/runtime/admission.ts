/**
 * How many calls of one installation run at once, and how many may wait (REFERENCE section 8). First come, first
 * served within an installation; one installation's queue never touches another's.
 */

interface Queue {
  running: number;
  readonly waiting: ((admitted: boolean) => void)[];
}

export class Admission {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #queues = new Map<string, Queue>();
  #closed = false;

  constructor(runningMax: number, waitingMax: number) {
    this.#runningMax = runningMax;
    this.#waitingMax = waitingMax;
  }

  /** @returns true with a place in hand, a promise of one, or false where too many are waiting. */
  enter(installationId: string): boolean | Promise<boolean> {
    if (this.#closed) return false;
    const queue = this.#queues.get(installationId);
    if (queue === undefined) {
      this.#queues.set(installationId, { running: 1, waiting: [] });
      return true;
    }
    if (queue.running < this.#runningMax) {
      queue.running += 1;
      return true;
    }
    if (queue.waiting.length >= this.#waitingMax) return false;
    return new Promise((resolve) => queue.waiting.push(resolve));
  }

  /** Gives a place back: the longest waiting call of the installation has it next. */
  leave(installationId: string): void {
    const queue = this.#queues.get(installationId);
    if (queue === undefined) return;
    const next = queue.waiting.shift();
    if (next) {
      next(true);
    } else {
      queue.running -= 1;
      if (queue.running === 0) this.#queues.delete(installationId);
    }
  }

  /** Lets nobody in any more; those that wait are turned away. */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) {
      for (const turnAway of queue.waiting.splice(0)) turnAway(false);
    }
  }
}
