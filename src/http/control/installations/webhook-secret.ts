/**
 * `…/webhook-secret`: reads and rotates the signing secret of a target's webhooks
 * (docs/contract/webhooks.md#secret).
 *
 * For principals that may install the target, and for code of a call for it, whose component shows
 * the secret to a user. As on all routes here, answers carry `no-store`. Each use is an audit
 * entry, which never contains the secret.
 */
import Type from 'typebox';
import { LEVELS, type Level } from '../../../model/level.ts';
import type { WebhookSecret } from '../../../store/webhooks/webhook-secret-rows.ts';
import {
  OVERLAP_SECONDS_MAX,
  OVERLAP_SECONDS_MIN,
  OWN_SECRET,
  OWN_SECRET_CHARS_MAX,
  OWN_SECRET_CHARS_MIN,
  type WebhookSecrets,
} from '../../../store/webhooks/webhook-secrets.ts';
import { actorOf } from '../authenticate.ts';
import { ERRORS_VIEW, isoTime, NoQuery, Time } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS } from './target-paths.ts';
import { forRuntimeAt, type WebhookRouteParts, webhookTarget } from './webhook-rights.ts';

export interface WebhookSecretRouteParts extends WebhookRouteParts {
  readonly webhookSecrets: Pick<WebhookSecrets, 'reveal' | 'rotate'>;
}

const RotateBody = Type.Object(
  {
    secret: Type.Optional(
      Type.String({
        description: 'Printable ASCII characters without spaces. If absent, a secret is generated.',
        minLength: OWN_SECRET_CHARS_MIN,
        maxLength: OWN_SECRET_CHARS_MAX,
        pattern: OWN_SECRET.source,
      }),
    ),
    overlapSeconds: Type.Optional(
      Type.Integer({
        description: 'Time in which the previous secret signs too. If absent, it stops at once.',
        minimum: OVERLAP_SECONDS_MIN,
        maximum: OVERLAP_SECONDS_MAX,
      }),
    ),
  },
  { title: 'WebhookSecretRotation', additionalProperties: false },
);

const SecretView = Type.Object(
  {
    secret: Type.String({ description: 'The key of the HMAC is the UTF-8 of this text.' }),
    createdAt: Time,
    previous: Type.Optional(
      Type.Object(
        { until: Time },
        { description: 'End of the time in which the previous secret signs too, second in the header.' },
      ),
    ),
  },
  { title: 'WebhookSecret' },
);

export function webhookSecretRoutes(app: TypedApp, parts: WebhookSecretRouteParts): void {
  for (const level of LEVELS) {
    revealRoute(app, parts, level);
    rotateRoute(app, parts, level);
  }
}

function revealRoute(app: TypedApp, parts: WebhookSecretRouteParts, level: Level): void {
  app.get(
    `${TARGET_PATHS[level]}/webhook-secret`,
    {
      config: forRuntimeAt(level),
      onRequest: countedEdit(parts, level),
      schema: {
        summary: `Read the webhook secret of ${TARGET_NOUNS[level]}`,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        response: { 200: SecretView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { installation } = await webhookTarget(parts, request, level);
      return secretView(await parts.webhookSecrets.reveal(installation, actorOf(request)));
    },
  );
}

function rotateRoute(app: TypedApp, parts: WebhookSecretRouteParts, level: Level): void {
  app.post(
    `${TARGET_PATHS[level]}/webhook-secret/rotate`,
    {
      config: forRuntimeAt(level),
      onRequest: countedEdit(parts, level),
      schema: {
        summary: `Rotate the webhook secret of ${TARGET_NOUNS[level]}`,
        description:
          'At once, or with an overlap in which each webhook has two signatures, the new one first. A rotation during ' +
          'an overlap ends that overlap: the replaced secret becomes the previous one, and the earlier one stops signing.',
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        body: RotateBody,
        response: { 200: SecretView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { installation } = await webhookTarget(parts, request, level);
      const { secret, overlapSeconds } = request.body;
      const rotation = { secret, overlapMs: overlapSeconds && overlapSeconds * 1_000 };
      return secretView(await parts.webhookSecrets.rotate(installation, rotation, actorOf(request)));
    },
  );
}

const secretView = ({ secret, createdAt, previous }: WebhookSecret) => ({
  secret,
  createdAt: isoTime(createdAt),
  ...(previous && { previous: { until: isoTime(previous.until) } }),
});
