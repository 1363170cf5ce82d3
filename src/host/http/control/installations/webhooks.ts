/**
 * Webhooks of targets: `…/webhook-secret` reads and rotates the signing secret
 * (docs/contract/webhooks.md#secret), and `…/webhook-test` sends a test event to one target, so
 * that a user sees whether the receiver gets it (docs/contract/webhooks.md#test-events).
 *
 * For principals that may install the target, and for code of a call for it, whose component shows
 * the secret to a user. As on all routes here, answers carry `no-store`. Each use is an audit
 * entry, which never contains the secret. A test event takes the path of every other event, and its
 * outcome is in the deliveries.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type TSchema } from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import type { WebhookEventType } from '../../../../model/example-event.ts';
import { wholeInstallation } from '../../../../model/installation.ts';
import { LEVELS, type Level } from '../../../../model/level.ts';
import { WEBHOOK_EVENT_TYPES, type WebhookDeclaration } from '../../../../model/manifest/webhook.ts';
import { maySeeWebhookSecret } from '../../../../model/principal.ts';
import type { Target } from '../../../../model/target.ts';
import { unknownTarget } from '../../../../model/unknown-name-errors.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { WebhookSecret } from '../../../store/webhooks/webhook-secret-rows.ts';
import {
  OVERLAP_SECONDS_MAX,
  OVERLAP_SECONDS_MIN,
  OWN_SECRET,
  OWN_SECRET_CHARS_MAX,
  OWN_SECRET_CHARS_MIN,
} from '../../../store/webhooks/webhook-secrets.ts';
import { actorOf, principalOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { route } from '../route.ts';
import { closed, isoTime, NoQuery, named, optional, Time } from '../schemas.ts';
import {
  countedEdit,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  targetNameOf,
  visibleTarget,
} from './targets.ts';

const RotateBody = closed('WebhookSecretRotation', {
  secret: optional(
    Type.String({
      minLength: OWN_SECRET_CHARS_MIN,
      maxLength: OWN_SECRET_CHARS_MAX,
      pattern: OWN_SECRET.source,
    }),
    'Printable ASCII characters without spaces. If absent, a secret is generated.',
  ),
  overlapSeconds: optional(
    Type.Integer({ minimum: OVERLAP_SECONDS_MIN, maximum: OVERLAP_SECONDS_MAX }),
    'Time in which the previous secret signs too. If absent, it stops at once.',
  ),
});

const SecretView = named('WebhookSecret', {
  secret: Type.String({ description: 'The key of the HMAC is the UTF-8 of this text.' }),
  createdAt: Time,
  previous: Type.Optional(
    Type.Object(
      { until: Time },
      { description: 'End of the time in which the previous secret signs too, second in the header.' },
    ),
  ),
});

/** No event type belongs to an organization as a whole. */
const TEST_BODIES = {
  organization: testBody(Type.String({ maxLength: 64 })),
  space: testBody(Type.Enum([...WEBHOOK_EVENT_TYPES.space])),
  site: testBody(Type.Enum([...WEBHOOK_EVENT_TYPES.site])),
};

function testBody(types: TSchema) {
  const description = 'A type that the configuration selects; if absent, the first of them.';
  return Type.Optional(
    Type.Object(
      { type: Type.Optional(Type.Unsafe<string>({ ...types, description })) },
      { additionalProperties: false },
    ),
  );
}

const TestView = named('WebhookTest', {
  eventId: Type.String(),
  deliveries: Type.Integer({
    description: '0 if the code does not handle the type or lacks its scope.',
  }),
});

/** What the routes of a level share: each use is an audit entry, so it counts as an edit. */
const common = (level: Level) => ({
  // Of calls for a space or a site.
  forRuntime: level !== 'organization',
  rate: countedEdit(level),
  params: TARGET_PARAMS[level],
  query: NoQuery,
});

const secretRoutes = (level: Level) => [
  route({
    ...common(level),
    name: `${TARGET_TAGS[level]}.getWebhookSecret`,
    at: `GET ${TARGET_PATHS[level]}/webhook-secret`,
    summary: `Read the webhook secret of ${TARGET_NOUNS[level]}`,
    answer: SecretView,
    async handle(request, control) {
      const { installation } = await webhookTarget(control, request, level);
      return secretView(await control.webhookSecrets.reveal(installation, actorOf(request)));
    },
  }),
  route({
    ...common(level),
    name: `${TARGET_TAGS[level]}.rotateWebhookSecret`,
    at: `POST ${TARGET_PATHS[level]}/webhook-secret/rotate`,
    summary: `Rotate the webhook secret of ${TARGET_NOUNS[level]}`,
    description:
      'At once, or with an overlap in which each webhook has two signatures, the new one first. A rotation during ' +
      'an overlap ends that overlap: the replaced secret becomes the previous one, and the earlier one stops signing.',
    body: RotateBody,
    answer: SecretView,
    async handle(request, control) {
      const { installation } = await webhookTarget(control, request, level);
      const { secret, overlapSeconds } = request.body;
      const rotation = { secret, overlapMs: overlapSeconds && overlapSeconds * 1_000 };
      return secretView(await control.webhookSecrets.rotate(installation, rotation, actorOf(request)));
    },
  }),
];

const testRoute = (level: Level) =>
  route({
    ...common(level),
    name: `${TARGET_TAGS[level]}.testWebhook`,
    at: `POST ${TARGET_PATHS[level]}/webhook-test`,
    summary: `Test the webhook of ${TARGET_NOUNS[level]}`,
    description: 'Accepts an example event, as the host product would post it, for this target only.',
    body: TEST_BODIES[level],
    answer: TestView,
    status: 202,
    async handle(request, control) {
      const { installation, webhook } = await webhookTarget(control, request, level);
      await requireActive(control, installation);
      // `webhookTarget` has refused organizations, which have no webhook.
      if (level === 'organization') throw unknownTarget(installation);
      const type = selectedType(installation, webhook.eventTypes, request.body.type);
      const to = { ...installation, level };
      const { eventId, deliveries } = await control.testEvents.send(to, type, actorOf(request));
      return { eventId, deliveries };
    },
  });

export const WEBHOOK_ROUTES = [...LEVELS.flatMap(secretRoutes), ...LEVELS.map(testRoute)];

const secretView = ({ secret, createdAt, previous }: WebhookSecret) => ({
  secret,
  createdAt: isoTime(createdAt),
  previous: previous && { until: isoTime(previous.until) },
});

/** A target with a webhook. */
interface WebhookTarget {
  readonly installation: Installation;
  readonly webhook: WebhookDeclaration;
}

/** @throws AnnexError INSTALLATION_UNKNOWN, TOKEN_FORBIDDEN, WEBHOOK_UNKNOWN */
async function webhookTarget(
  control: Control,
  request: FastifyRequest,
  level: Level,
): Promise<WebhookTarget> {
  const name = targetNameOf(request, level);
  const installation = await visibleTarget(control, request, level);
  if (!maySeeWebhookSecret(principalOf(request), installation)) {
    const message = `The webhook of a ${level} needs a token that may install there, or the runtime token of a call for that ${level}.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const target = await control.targets.named(name);
  if (target === undefined) throw unknownTarget(name);
  if (target.webhook === undefined) throw noWebhook(target);
  return { installation, webhook: target.webhook };
}

function noWebhook({ integration, level }: Target): AnnexError {
  const why =
    level === 'organization'
      ? 'webhooks belong to spaces and sites: use ".../spaces/{space}" or ".../sites/{site}", if its manifest has "webhook".'
      : 'the manifest of its active version has no "webhook".';
  return new AnnexError('WEBHOOK_UNKNOWN', `Integration "${integration}" posts no webhooks there: ${why}`);
}

/**
 * The type to test. An unselected type is refused for a test too: its receiver would get an event
 * that it never gets otherwise (docs/contract/webhooks.md#selection).
 *
 * @param setting property with the selected types
 * @throws AnnexError EVENT_UNSELECTED
 */
function selectedType(
  { level, configuration }: Installation,
  setting: string,
  asked: string | undefined,
): WebhookEventType {
  const types: readonly WebhookEventType[] = WEBHOOK_EVENT_TYPES[level];
  const stored: readonly unknown[] = Array.isArray(configuration[setting]) ? configuration[setting] : [];
  const selected = stored.flatMap((one) => types.find((type) => type === one) ?? []);
  const type = asked === undefined ? selected[0] : selected.find((one) => one === asked);
  if (type !== undefined) return type;
  const message =
    selected.length === 0
      ? `"${setting}" selects no type of event, and only selected types are posted: choose from ${types.join(', ')}.`
      : `"${setting}" does not select ${asked}, and only selected types are posted: it selects ${selected.join(', ')}.`;
  throw new AnnexError('EVENT_UNSELECTED', message);
}

/** @throws AnnexError INSTALLATION_INACTIVE with the reason */
async function requireActive({ installations }: Control, target: Installation): Promise<void> {
  const installation = await installations.read(wholeInstallation(target.installationId));
  for (const one of [installation, target]) {
    if (one === undefined) throw unknownTarget(target);
    const what = one === installation ? 'The installation' : `The ${one.level} "${one.place}"`;
    if (one.status === 'paused')
      throw new AnnexError(
        'INSTALLATION_INACTIVE',
        `${what} is paused: it gets no events until it is resumed.`,
      );
    if (one.status === 'active') continue;
    const problems = await installations.problemsOf(one);
    const reasons = problems.map(({ message }) => message).join(' ');
    const message = `${what} is pending: it gets no events until its configuration is valid. ${reasons}`;
    throw new AnnexError('INSTALLATION_INACTIVE', message.trimEnd());
  }
}
