/** Waits for the deliveries of an event, for commands that post one and show what became of it. */
import type { Annex, Delivery } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../terminal/failure.ts';

const LOOK_MS = 200;

/** How long such a command waits at most, unless it is given a time. */
export const OUTCOMES_WAIT_MS = 30_000;

export interface AwaitedEvent {
  readonly eventId: string;
  /** How many deliveries it has. */
  readonly deliveries: number;
  readonly waitMs: number;
}

/**
 * The deliveries of the event, once all have ended, or after the time.
 *
 * @throws Failure if the command is interrupted
 */
export async function outcomesOf(
  { signal }: CommandContext,
  client: Annex,
  { eventId, deliveries, waitMs }: AwaitedEvent,
): Promise<readonly Delivery[]> {
  const until = performance.now() + waitMs;
  for (;;) {
    const found = await Array.fromAsync(client.deliveries.all({ event: eventId }));
    const isOver = found.length >= deliveries && found.every(({ state }) => state !== 'pending');
    if (isOver || performance.now() >= until) return found;
    if (signal.aborted) throw new Failure('Interrupted before its deliveries had ended.');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
