/**
 * `…/webhook-test`: an event that is made up, for one target alone, so that somebody sees whether their receiver gets it.
 *
 * It goes the way of every other event, and what becomes of it is in the deliveries. For whoever may see the secret of the webhook,
 * the target's own component among them.
 */
import Type, { type TSchema } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { WebhookEventType } from '../../../model/example-event.ts';
import { LEVELS, wholeInstallation } from '../../../model/installation.ts';
import { WEBHOOK_EVENT_TYPES } from '../../../model/manifest/webhook.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { WebhookTests } from '../../../store/webhooks/webhook-tests.ts';
import { actorOf } from '../authenticate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS } from './target-paths.ts';
import { forRuntimeAt, type WebhookRouteParts, webhookTarget } from './webhook-rights.ts';

export interface WebhookTestRouteParts extends WebhookRouteParts {
  readonly installations: Pick<Installations, 'read' | 'problemsOf'>;
  readonly webhookTests: Pick<WebhookTests, 'send'>;
}

/** Nothing happens in an organization that could be asked for. */
const TEST_BODIES = {
  organization: testBody(Type.String({ maxLength: 64 })),
  space: testBody(Type.Enum([...WEBHOOK_EVENT_TYPES.space])),
  site: testBody(Type.Enum([...WEBHOOK_EVENT_TYPES.site])),
};

function testBody(types: TSchema) {
  const description = 'One that is selected there; unless given, the first of those.';
  return Type.Optional(
    Type.Object(
      { type: Type.Optional(Type.Unsafe<string>({ ...types, description })) },
      { additionalProperties: false },
    ),
  );
}

const TestView = Type.Object({
  eventId: Type.String(),
  deliveries: Type.Integer({
    description: 'None where the code does not handle the type, or lacks its scope.',
  }),
});

export function webhookTestRoutes(app: TypedApp, parts: WebhookTestRouteParts): void {
  for (const level of LEVELS) {
    app.post(
      `${TARGET_PATHS[level]}/webhook-test`,
      {
        config: forRuntimeAt(level),
        onRequest: countedEdit(parts, level),
        schema: {
          summary: `Try the webhook of ${TARGET_NOUNS[level]} out`,
          description:
            'Accepts an event that is made up, as the product would post it, for this target alone.',
          params: TARGET_PARAMS[level],
          querystring: NoQuery,
          body: TEST_BODIES[level],
          response: { 202: TestView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { installation, webhook } = await webhookTarget(parts, request, level);
        await requireActive(parts, installation);
        // An organization as a whole has no webhook: nobody has got this far for one.
        if (level === 'organization') throw unknownTarget(installation);
        const type = selectedType(installation, webhook.eventTypes, request.body.type);
        const by = actorOf(request);
        const { eventId, deliveries } = await parts.webhookTests.send({ ...installation, level }, type, by);
        return reply.code(202).send({ eventId, deliveries });
      },
    );
  }
}

/**
 * The type to try out. What is not selected is posted to nobody (SPEC "Webhook events"), for a test either: it would tell of a
 * receiver that gets what it never will again.
 *
 * @param setting that holds the types which are selected
 * @throws `EVENT_UNSELECTED`
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
      ? `"${setting}" selects no type of event, and nothing else is posted: choose from ${types.join(', ')}.`
      : `"${setting}" does not select ${asked}, and nothing else is posted: it selects ${selected.join(', ')}.`;
  throw new AnnexError('EVENT_UNSELECTED', message);
}

/** @throws `INSTALLATION_INACTIVE`, which says why */
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
        `${what} is paused: no event reaches it until it is resumed.`,
      );
    if (one.status === 'active') continue;
    const problems = await installations.problemsOf(one);
    const told = problems.map(({ message }) => message).join(' ');
    const message = `${what} is pending: no event reaches it until its configuration is valid. ${told}`;
    throw new AnnexError('INSTALLATION_INACTIVE', message.trimEnd());
  }
}
