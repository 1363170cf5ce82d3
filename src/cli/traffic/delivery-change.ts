/** Deliveries, and changes of them, as people see them. */
import type { Delivery, DeliveryChange } from '../../../packages/client/src/index.ts';
import { type Output, type Piece, paint } from '../terminal/output.ts';
import { timeOfDay } from './time-options.ts';

export const STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled'] as const;

export const stateOf = (state: string): Piece => {
  if (state === 'failed') return paint('red', state);
  if (state === 'delivered') return paint('green', state);
  return state === 'canceled' || state === 'unhandled' ? paint('yellow', state) : state;
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
