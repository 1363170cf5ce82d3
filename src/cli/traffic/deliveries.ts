/**
 * Deliveries, and changes of them, as people see them; and how commands that post an event wait for
 * its deliveries.
 */
import type { Annex, Delivery, DeliveryChange } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../command.ts';
import { Failure } from '../terminal/failure.ts';
import { type Output, type Piece, paint } from '../terminal/output.ts';
import { timeOfDay } from './option-values.ts';

export const STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled', 'held'] as const;

export const stateOf = (state: string): Piece => {
  if (state === 'failed') return paint('red', state);
  if (state === 'delivered') return paint('green', state);
  return ['canceled', 'unhandled', 'held'].includes(state) ? paint('yellow', state) : state;
};

export const TITLES = ['DELIVERY', 'TYPE', 'TO', 'STATE', 'ATTEMPTS', 'OUTCOME', 'CREATED'];
export const rowOf = (delivery: Delivery): readonly Piece[] => [
  delivery.id,
  delivery.type,
  `${delivery.integration}@${delivery.organization}`,
  stateOf(delivery.state),
  delivery.attempts,
  delivery.outcome ?? '',
  delivery.createdAt,
];

export function showChange(output: Pick<Output, 'line'>, { at, change, delivery, attempt }: DeliveryChange) {
  const outcome = attempt?.outcome ?? (change === 'accepted' ? '' : (delivery.outcome ?? ''));
  output.line(
    paint('dim', `${timeOfDay(at)} `),
    stateOf(change),
    ` ${delivery.type} to ${delivery.integration}@${delivery.organization}`,
    attempt === undefined ? '' : `, attempt ${attempt.number}: ${outcome} (${attempt.durationMs} ms)`,
    attempt === undefined && outcome !== '' ? `: ${outcome}` : '',
    paint('dim', ` ${delivery.id}`),
  );
}

const LOOK_MS = 200;

/** How long such a command waits at most, unless it is given a time. */
export const OUTCOMES_WAIT_MS = 30_000;

interface AwaitedEvent {
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
