/**
 * Keeps a queue of the benchmark busy without a growing backlog: its producers together may be
 * `WINDOW` deliveries ahead of the receiver.
 *
 * Every system is fed in this way by processes of their own, so each is measured while it accepts
 * and delivers at the same time.
 */
import type { ChildProcess } from 'node:child_process';
import type { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';

/** Message to a producer: how many events it may have produced in all. */
export interface Allowance {
  readonly upTo: number;
}

export const WINDOW = 4_096;
const EVERY_MS = 5;

/** A producer to feed. */
export interface Fed {
  readonly producer: ChildProcess;
  /** Number of its events that were accepted. Used where several producers share a queue. */
  acknowledged(): number;
}

/**
 * Keeps sending allowances to the producers. Each gets the same share of the room, however much the
 * others produce.
 *
 * @param before what the receiver had received
 * @returns a function that ends it
 */
export function feed(
  producers: readonly Fed[],
  receiver: LedgerReceiver,
  before: number,
): () => Promise<void> {
  let feeding = true;
  const run = async () => {
    while (feeding) {
      const { received } = await receiver.progress();
      const upTo = received - before + WINDOW;
      const made = producers.map((one) => (producers.length === 1 ? 0 : one.acknowledged()));
      const room = upTo - made.reduce((sum, one) => sum + one, 0);
      for (const [index, { producer }] of producers.entries()) {
        const own = (made[index] ?? 0) + Math.floor(room / producers.length);
        producer.send({ upTo: own } satisfies Allowance);
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  };
  const ended = run();
  return () => {
    feeding = false;
    return ended;
  };
}

/** Ends this process when its parent has ended. */
export function endWithParent(): void {
  process.once('disconnect', () => process.exit(0));
}

/** In a producer: makes batches within the allowance, `atOnce` at a time. */
export async function produce(
  batch: number,
  atOnce: number,
  make: (first: number, count: number) => Promise<unknown>,
): Promise<never> {
  let upTo = 0;
  let next = 0;
  const wake: (() => void)[] = [];
  process.on('message', (allowance: Allowance) => {
    upTo = allowance.upTo;
    for (const one of wake.splice(0)) one();
  });
  const run = async (): Promise<never> => {
    for (;;) {
      while (next + batch > upTo) await new Promise<void>((resolve) => wake.push(resolve));
      const first = next;
      next += batch;
      await make(first, batch);
    }
  };
  const [ended] = await Promise.all(Array.from({ length: atOnce }, run));
  if (ended === undefined) throw new Error('A producer ended early.');
  return ended;
}
