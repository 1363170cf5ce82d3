/**
 * Composes the targets layer over an open store: the resolver, which the store's change notices
 * invalidate, and signed tokens.
 */
import type { Limits } from '../../limits.ts';
import type { RetrySchedule } from '../../model/retry-schedule.ts';
import type { SignatureScheme } from '../../model/signature.ts';
import type { Store } from '../store/store.ts';
import { RuntimeTokenMint, RuntimeTokens } from './runtime-tokens.ts';
import { type Origins, TargetResolver } from './target-resolver.ts';
import { UiTokens, type UiTokensDeps } from './ui-tokens.ts';

export interface OpenTargetsOptions {
  readonly origins: Origins;
  readonly limits: Limits;
  /** `TargetBuilderDeps.webhookRetries` */
  readonly webhookRetries: RetrySchedule;
  /** `TargetBuilderDeps.webhookSignature` */
  readonly webhookSignature: SignatureScheme;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

export interface OpenTargets {
  readonly targets: TargetResolver;
  readonly runtimeTokens: RuntimeTokens;
  readonly uiTokens: UiTokens;
}

/** Call it before the first change of the store: the resolver caches from then on. */
export function openTargets(
  {
    changes,
    targetSource: source,
    runtimeTokenKeys: keys,
    tokens,
  }: Pick<Store, 'changes' | 'targetSource' | 'runtimeTokenKeys'> & { tokens: UiTokensDeps['tokens'] },
  options: OpenTargetsOptions,
): OpenTargets {
  const mint = new RuntimeTokenMint(keys);
  const targets = new TargetResolver({ source, mint, ...options });
  changes.on('integration', (integration) => targets.forget(integration));
  changes.on('installation', (installationId) => targets.forgetInstallation(installationId));
  changes.on('missed', () => targets.forgetAll());
  const { wallNow } = options;
  return {
    targets,
    runtimeTokens: new RuntimeTokens({ keys, source, wallNow }),
    uiTokens: new UiTokens({ keys, source, tokens, wallNow }),
  };
}
