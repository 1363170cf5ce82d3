/**
 * `…/webhook-test`: an event that is made up, for one target alone, so that somebody sees whether their receiver gets it.
 *
 * It goes the way of every other event, and what becomes of it is in the deliveries. For whoever may see the secret of the webhook,
 * the target's own component among them.
 */
import Type, { type TSchema } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { WebhookEventType } from '../../../model/example-event.ts';
import { LEVELS, type Level, wholeInstallation } from '../../../model/installation.ts';
import { WEBHOOK_EVENT_TYPES } from '../../../model/manifest/webhook.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { WebhookTests } from '../../../store/webhooks/webhook-tests.ts';
import { actorOf } from '../authenticate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS } from './target-paths.ts';
import { forRuntimeAt, type WebhookDoorParts, webhookTarget } from './webhook-rights.ts';

export interface WebhookTestDoorParts extends WebhookDoorParts {
  readonly installations: Pick<Installations, 'read' | 'problemsOf'>;
  readonly webhookTests: Pick<WebhookTests, 'send'>;
}

/** Nothing happens in an organization that could be asked for. */
const TEST_BODIES = {
  organization: testBody(Type.String()),
  space: testBody(Type.Enum([...WEBHOOK_EVENT_TYPES.space])),
  site: testBody(Type.Enum([...WEBHOOK_EVENT_TYPES.site])),
};

function testBody(types: TSchema) {
  const description = 'Unless given, the first that is selected there, or else the first that can be.';
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

export function webhookTestDoor(app: TypedApp, parts: WebhookTestDoorParts): void {
  for (const level of LEVELS) {
    app.post(
      `${TARGET_PATHS[level]}/webhook-test`,
      {
        config: forRuntimeAt(level),
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
        const type = typeFor(level, request.body.type, installation.configuration[webhook.eventTypes]);
        // An organization as a whole has no webhook: nobody has got this far for one.
        if (level === 'organization' || type === undefined) throw unknownTarget(installation);
        const by = actorOf(request);
        const { eventId, deliveries } = await parts.webhookTests.send({ ...installation, level }, type, by);
        return reply.code(202).send({ eventId, deliveries });
      },
    );
  }
}

/** @param selected the setting, as it is stored */
function typeFor(level: Level, asked: string | undefined, selected: unknown): WebhookEventType | undefined {
  const types: readonly WebhookEventType[] = WEBHOOK_EVENT_TYPES[level];
  const wanted: readonly unknown[] = asked === undefined && Array.isArray(selected) ? selected : [asked];
  for (const one of wanted) {
    const type = types.find((known) => known === one);
    if (type !== undefined) return type;
  }
  return types[0];
}

/** @throws `INSTALLATION_INACTIVE`, which says why */
async function requireActive(
  { installations }: Pick<WebhookTestDoorParts, 'installations'>,
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
