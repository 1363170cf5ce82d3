/**
 * `…/webhook-secret`: shows what webhooks of a target are signed with, and replaces it (REFERENCE D24).
 *
 * For whoever may install the target, and for the code of a call for it, whose component shows the secret to a person. As
 * everything here it is answered with `no-store`; each time is an entry in the audit, which never says the secret.
 */
import Type from 'typebox';
import { LEVELS, type Level } from '../../../model/installation.ts';
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
        description: 'One of your own: printable ASCII characters without spaces. One is made unless given.',
        minLength: OWN_SECRET_CHARS_MIN,
        maxLength: OWN_SECRET_CHARS_MAX,
        pattern: OWN_SECRET.source,
      }),
    ),
    overlapSeconds: Type.Optional(
      Type.Integer({
        description: 'How long the secret before it goes on signing, too. It stops at once unless given.',
        minimum: OVERLAP_SECONDS_MIN,
        maximum: OVERLAP_SECONDS_MAX,
      }),
    ),
  },
  { additionalProperties: false },
);

const SecretView = Type.Object({
  secret: Type.String({ description: 'The key of the HMAC is its UTF-8 text as it stands here.' }),
  createdAt: Time,
  previous: Type.Optional(
    Type.Object(
      { until: Time },
      { description: 'While the secret before it signs, too: until when. Behind the new one in the header.' },
    ),
  ),
});

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
        summary: `Show what webhooks of ${TARGET_NOUNS[level]} are signed with`,
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
        summary: `Replace what webhooks of ${TARGET_NOUNS[level]} are signed with`,
        description:
          'At once, or with an overlap in which each webhook carries two signatures, the new one first. A rotation during ' +
          'an overlap ends it: the secret that is replaced then is the previous one, and the one before it signs no more.',
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
