/**
 * Who may do something about the webhook of a target, at the doors: finds the one that a path names, and refuses where the
 * token may not, where no webhooks are posted, and whoever asks too often.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { LimitName } from '../../../limits.ts';
import type { Level } from '../../../model/installation.ts';
import type { WebhookDeclaration } from '../../../model/manifest/webhook.ts';
import { maySeeWebhookSecret } from '../../../model/principal.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { FOR_RUNTIME, principalOf } from '../authenticate.ts';
import type { EditRate } from './edit-rate.ts';
import { visibleTarget } from './installation-rights.ts';
import { type TargetParams, targetNameOf } from './target-paths.ts';

export interface WebhookRouteParts {
  readonly installations: Pick<Installations, 'read'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  /** How often something may be done about each installation: all that is done here is noted in the audit. */
  readonly edits: EditRate;
  limitMet(limit: LimitName): void;
}

/** Routes of a space's and a site's webhook are for code of calls for it, too; an organization as a whole has none. */
export const forRuntimeAt = (level: Level) => (level === 'organization' ? {} : FOR_RUNTIME);

/** A target that posts webhooks. */
export interface WebhookTarget {
  readonly installation: Installation;
  readonly webhook: WebhookDeclaration;
}

/** @throws `INSTALLATION_UNKNOWN`, `TOKEN_FORBIDDEN`, `WEBHOOK_UNKNOWN` */
export async function webhookTarget(
  parts: WebhookRouteParts,
  request: FastifyRequest,
  level: Level,
): Promise<WebhookTarget> {
  const params = request.params as TargetParams;
  const name = targetNameOf(level, params);
  const installation = await visibleTarget(parts.installations, request, params.name, name);
  if (!maySeeWebhookSecret(principalOf(request), installation)) {
    const message = `The webhook of a ${level} is for those who may install it, and for calls of that ${level} alone.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const target = await parts.targets.named(name);
  if (target === undefined) throw unknownTarget(name);
  if (target.webhook === undefined) throw noWebhook(target);
  return { installation, webhook: target.webhook };
}

function noWebhook({ integration, level }: Target): AnnexError {
  const why =
    level === 'organization'
      ? 'they are of single spaces and sites, ".../spaces/{space}" or ".../sites/{site}", where its manifest says "webhook".'
      : 'the manifest of its active version does not say "webhook".';
  return new AnnexError('WEBHOOK_UNKNOWN', `Integration "${integration}" posts no webhooks there: ${why}`);
}
