/**
 * `…/webhook-test`: sends a test event to one target, so that a user sees whether the receiver gets
 * it (docs/contract/webhooks.md#test-events).
 *
 * It takes the path of every other event, and its outcome is in the deliveries. For principals that
 * may read the webhook secret, among them the target's own component.
 */
import Type, { type TSchema } from 'typebox';
import type { TestEvents } from '../../../delivery/accept/test-events.ts';
import { AnnexError } from '../../../errors.ts';
import type { WebhookEventType } from '../../../model/example-event.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { LEVELS } from '../../../model/level.ts';
import { WEBHOOK_EVENT_TYPES } from '../../../model/manifest/webhook.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { actorOf } from '../authenticate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import { countingLimits } from './installation-target.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS } from './target-paths.ts';
import { forRuntimeAt, type WebhookRouteParts, webhookTarget } from './webhook-rights.ts';

export interface WebhookTestRouteParts extends WebhookRouteParts {
  readonly installations: Pick<Installations, 'read' | 'problemsOf'>;
  readonly testEvents: Pick<TestEvents, 'send'>;
}

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

const TestView = Type.Object(
  {
    eventId: Type.String(),
    deliveries: Type.Integer({
      description: '0 if the code does not handle the type or lacks its scope.',
    }),
  },
  { title: 'WebhookTest' },
);

export function webhookTestRoutes(app: TypedApp, parts: WebhookTestRouteParts): void {
  for (const level of LEVELS) {
    app.post(
      `${TARGET_PATHS[level]}/webhook-test`,
      {
        config: forRuntimeAt(level),
        onRequest: countedEdit(parts, level),
        schema: {
          summary: `Test the webhook of ${TARGET_NOUNS[level]}`,
          description: 'Accepts an example event, as the host product would post it, for this target only.',
          params: TARGET_PARAMS[level],
          querystring: NoQuery,
          body: TEST_BODIES[level],
          response: { 202: TestView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { installation, webhook } = await webhookTarget(parts, request, level);
        await requireActive(parts, installation);
        // `webhookTarget` has refused organizations, which have no webhook.
        if (level === 'organization') throw unknownTarget(installation);
        const type = selectedType(installation, webhook.eventTypes, request.body.type);
        const by = actorOf(request);
        const sending = parts.testEvents.send({ ...installation, level }, type, by);
        const { eventId, deliveries } = await countingLimits(parts, sending);
        return reply.code(202).send({ eventId, deliveries });
      },
    );
  }
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
async function requireActive(
  { installations }: Pick<WebhookTestRouteParts, 'installations'>,
  target: Installation,
): Promise<void> {
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
