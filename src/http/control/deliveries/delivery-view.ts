/**
 * The views of deliveries: in a list, and alone with every attempt.
 *
 * Attack: markup in answers of receivers, which are servers that the host does not know. Answers
 * are sent as text in JSON only, which browsers do not treat as a page.
 */
import Type from 'typebox';
import { ATTEMPT_RESULTS, DELIVERY_KINDS, DELIVERY_STATES } from '../../../database/tables.ts';
import type { Delivery, DeliveryPayload, RecordedAttempt } from '../../../store/deliveries/delivery.ts';
import { placeView } from '../installations/target-paths.ts';
import { isoTime, Time } from '../schemas.ts';

/** The id of the event, of a `Sequence`, and a number. */
export const DELIVERY_ID = /^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}\.\d{1,9}$/;

/** An id in a path; whether it exists is checked later. */
export const DeliveryId = Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_.-]+$' });

const Outcome = Type.String({
  description:
    'How an attempt ended, such as `answered 200`, `timeout`, `tls` or `blocked`; for a delivery, its last attempt.',
});

const MEMBERS = {
  id: Type.String({
    description: 'Also the request id of its lines in the log of the installation.',
  }),
  eventId: Type.String({ description: 'By which a receiver recognizes an event that it gets twice.' }),
  type: Type.String(),
  kind: Type.Enum([...DELIVERY_KINDS], {
    description:
      '`handler`: a call of the code. `webhook`: an HTTP post, whose payload and destination the code decides.',
  }),
  integration: Type.String(),
  organization: Type.String({
    description: 'The organization that installed; for a task at the level of the integration, its owner.',
  }),
  installation: Type.Optional(
    Type.String({ description: 'Absent for a task at the level of the integration.' }),
  ),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  state: Type.Enum([...DELIVERY_STATES], {
    description:
      '`pending`: not attempted yet, or to be retried. `delivered`: the handler or the receiver accepted it. `unhandled`: the code ' +
      'does not handle it, or is not subscribed. `failed`: final failure, or out of retries. `canceled`: the target was paused or ' +
      'removed, or the delivery was canceled by request.',
  }),
  attempts: Type.Integer({ description: 'Number of calls or requests made.' }),
  retries: Type.Integer({ description: 'Retries used since it was accepted or last redelivered.' }),
  outcome: Type.Optional(Outcome),
  createdAt: Time,
  dueAt: Type.Optional(
    Type.String({
      ...Time,
      description:
        'Time of the next attempt while pending. If it has passed, the attempt is in flight or waits for its turn.',
    }),
  ),
  finishedAt: Type.Optional(Time),
};

const AttemptView = Type.Object(
  {
    number: Type.Integer(),
    at: Time,
    durationMs: Type.Integer(),
    result: Type.Enum([...ATTEMPT_RESULTS], {
      description: '`fault`: a failure of Annex itself, which uses up no retry.',
    }),
    outcome: Outcome,
    destination: Type.Optional(Type.String({ description: 'URL of the post, without its query.' })),
    status: Type.Optional(Type.Integer({ description: 'Status of the answer.' })),
    response: Type.Optional(Type.String({ description: "Beginning of the body of the receiver's answer." })),
    truncated: Type.Optional(
      Type.Boolean({ description: 'Whether the answer was longer than what was read.' }),
    ),
  },
  { title: 'DeliveryAttempt' },
);

export const DeliveryView = Type.Object(MEMBERS, { title: 'Delivery' });

/** An event of followed deliveries, for the description: its text is made in another file. */
export const DeliveryChangeView = Type.Object(
  {
    id: Type.String({ description: 'By which a change that comes twice is recognized.' }),
    change: Type.Enum(
      ['accepted', 'attempted', 'redelivered', 'delivered', 'unhandled', 'failed', 'canceled'],
      {
        description: '`attempted`: an attempt ended, and the delivery is pending still.',
      },
    ),
    at: Time,
    delivery: DeliveryView,
    attempt: Type.Optional(AttemptView),
  },
  { title: 'DeliveryChange' },
);

export const WholeDeliveryView = Type.Object(
  {
    ...MEMBERS,
    history: Type.Array(AttemptView, { description: 'The latest hundred attempts, in order.' }),
    destination: Type.Optional(
      Type.String({ description: 'Destination of a webhook, without its query, which may contain a key.' }),
    ),
    payload: Type.Optional(
      Type.String({ description: 'Payload of a webhook: the same bytes at each attempt.' }),
    ),
  },
  { title: 'WholeDelivery' },
);

export function deliveryView(delivery: Delivery) {
  const { id, eventId, type, kind, integration, organization, target, state } = delivery;
  const { attempts, retries, outcome, createdAt, dueAt, finishedAt } = delivery;
  return {
    ...{ id, eventId, type, kind, integration, organization },
    ...(target.level !== 'integration' && { installation: target.installationId }),
    ...placeView(target),
    ...{ state, attempts, retries },
    ...(outcome !== undefined && { outcome }),
    createdAt: isoTime(createdAt),
    ...(state === 'pending' && { dueAt: isoTime(dueAt) }),
    ...(finishedAt !== undefined && { finishedAt: isoTime(finishedAt) }),
  };
}

export const attemptView = ({ at, ...attempt }: RecordedAttempt) => ({ ...attempt, at: isoTime(at) });

export const wholeDeliveryView = (
  delivery: Delivery,
  attempts: readonly RecordedAttempt[],
  payload: DeliveryPayload | undefined,
) => ({
  ...deliveryView(delivery),
  history: attempts.map(attemptView),
  ...(payload && { destination: withoutQuery(payload.destination), payload: payload.payload }),
});

const withoutQuery = (destination: string): string => destination.split('?', 1)[0] ?? '';
