/**
 * How deliveries are shown: in a list, and each by itself with every attempt that was made.
 *
 * What receivers have answered comes from servers that nobody here knows. It is text in JSON and nothing else: no browser takes
 * it for a page.
 */
import Type from 'typebox';
import { ATTEMPT_RESULTS, DELIVERY_KINDS, DELIVERY_STATES } from '../../../database/tables.ts';
import type { Delivery, DeliveryPayload, RecordedAttempt } from '../../../store/deliveries/delivery.ts';
import { placeView } from '../installations/target-paths.ts';
import { isoTime, Time } from '../schemas.ts';

/** Its event's, which is of a `Sequence`, and a number. */
export const DELIVERY_ID = /^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}\.\d{1,9}$/;

/** An id as it stands in a path; whether there is such a delivery is found out later. */
export const DeliveryId = Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_.-]+$' });

const Outcome = Type.String({
  description:
    'How an attempt ended, as `answered 200`, `timeout`, `tls` or `blocked` do; of a delivery, the last one.',
});

const MEMBERS = {
  id: Type.String({
    description:
      'Also the request id of what the integration has logged for it, in the log of the installation.',
  }),
  eventId: Type.String({ description: 'By which the receiver knows an event that it hears twice.' }),
  type: Type.String(),
  kind: Type.Enum([...DELIVERY_KINDS], {
    description:
      '`handler`: an event for the code itself. `webhook`: the code says what is posted where, and Annex does it.',
  }),
  integration: Type.String(),
  organization: Type.String({ description: 'The one that installed.' }),
  installation: Type.String(),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  state: Type.Enum([...DELIVERY_STATES], {
    description:
      '`pending`: to be delivered, or tried again. `delivered`: the handler, or the receiver, has it. `unhandled`: the code ' +
      'does not handle it, or is not subscribed. `failed`: final, or out of retries. `canceled`: the target was paused or ' +
      'gone, or somebody has said so.',
  }),
  attempts: Type.Integer({ description: 'Calls or requests that were made for it.' }),
  retries: Type.Integer({ description: 'Of those that it may have now, how many it has used.' }),
  outcome: Type.Optional(Outcome),
  createdAt: Time,
  dueAt: Type.Optional(
    Type.String({
      ...Time,
      description:
        'While it is pending: when it is tried next. Where that has passed, it is under way, or waits for its turn.',
    }),
  ),
  finishedAt: Type.Optional(Time),
};

const AttemptView = Type.Object({
  number: Type.Integer(),
  at: Time,
  durationMs: Type.Integer(),
  result: Type.Enum([...ATTEMPT_RESULTS], {
    description: '`fault`: by Annex itself, which says nothing of the receiver and uses up no retry.',
  }),
  outcome: Outcome,
  destination: Type.Optional(Type.String({ description: 'What was posted to, without its query.' })),
  status: Type.Optional(Type.Integer({ description: 'Of the answer.' })),
  response: Type.Optional(Type.String({ description: "How the body of the receiver's answer begins." })),
  truncated: Type.Optional(Type.Boolean({ description: 'Whether the answer was not read to its end.' })),
});

export const DeliveryView = Type.Object(MEMBERS);

export const WholeDeliveryView = Type.Object({
  ...MEMBERS,
  history: Type.Array(AttemptView, { description: 'Every attempt, in order; the latest hundred.' }),
  destination: Type.Optional(
    Type.String({ description: 'Of a webhook: where it goes, without its query, which may hold a key.' }),
  ),
  payload: Type.Optional(
    Type.String({ description: 'Of a webhook: what is posted, the same bytes at each attempt.' }),
  ),
});

export function deliveryView(delivery: Delivery) {
  const { id, eventId, type, kind, integration, organization, target, state } = delivery;
  const { attempts, retries, outcome, createdAt, dueAt, finishedAt } = delivery;
  return {
    ...{ id, eventId, type, kind, integration, organization },
    installation: target.installationId,
    ...placeView(target),
    ...{ state, attempts, retries },
    ...(outcome !== undefined && { outcome }),
    createdAt: isoTime(createdAt),
    ...(state === 'pending' && { dueAt: isoTime(dueAt) }),
    ...(finishedAt !== undefined && { finishedAt: isoTime(finishedAt) }),
  };
}

export const wholeDeliveryView = (
  delivery: Delivery,
  attempts: readonly RecordedAttempt[],
  payload: DeliveryPayload | undefined,
) => ({
  ...deliveryView(delivery),
  history: attempts.map(({ at, ...attempt }) => ({ ...attempt, at: isoTime(at) })),
  ...(payload && { destination: withoutQuery(payload.destination), payload: payload.payload }),
});

const withoutQuery = (destination: string): string => destination.split('?', 1)[0] ?? '';
