/**
 * Authorization for webhooks of targets: finds the target of a path, and refuses tokens that may
 * not use it and targets without webhooks.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { LimitName } from '../../../limits.ts';
import type { Level } from '../../../model/level.ts';
import type { WebhookDeclaration } from '../../../model/manifest/webhook.ts';
import { maySeeWebhookSecret } from '../../../model/principal.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
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
  /** Rate of actions for each installation: each is an audit entry. */
  readonly edits: EditRate;
  limitMet(limit: LimitName): void;
}

/**
 * The webhook routes of a space and a site accept runtime tokens of calls for it; the
 * organization's do not.
 */
export const forRuntimeAt = (level: Level) => (level === 'organization' ? {} : FOR_RUNTIME);

/** A target with a webhook. */
export interface WebhookTarget {
  readonly installation: Installation;
  readonly webhook: WebhookDeclaration;
}

/** @throws AnnexError INSTALLATION_UNKNOWN, TOKEN_FORBIDDEN, WEBHOOK_UNKNOWN */
export async function webhookTarget(
  parts: WebhookRouteParts,
  request: FastifyRequest,
  level: Level,
): Promise<WebhookTarget> {
  const params = request.params as TargetParams;
  const name = targetNameOf(level, params);
  const installation = await visibleTarget(parts.installations, request, params.name, name);
  if (!maySeeWebhookSecret(principalOf(request), installation)) {
    const message = `The webhook of a ${level} needs a token that may install there, or the runtime token of a call for that ${level}.`;
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
      ? 'webhooks belong to spaces and sites: use ".../spaces/{space}" or ".../sites/{site}", if its manifest has "webhook".'
      : 'the manifest of its active version has no "webhook".';
  return new AnnexError('WEBHOOK_UNKNOWN', `Integration "${integration}" posts no webhooks there: ${why}`);
}
