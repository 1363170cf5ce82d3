/**
 * The target of a request that calls the code of an installation, for the routes of this folder:
 * visible to the token, not paused, and with the scope of the call.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { TargetName } from '../../../model/installation.ts';
import type { Scope } from '../../../model/manifest/scope.ts';
import { mayReadInstallation } from '../../../model/principal.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { principalOf } from '../authenticate.ts';

/** @throws AnnexError INSTALLATION_UNKNOWN, SCOPE_MISSING, ENDPOINT_PAUSED */
export async function callableTarget(
  targets: Pick<TargetResolver, 'named'>,
  request: FastifyRequest,
  name: TargetName,
  scope?: Scope,
): Promise<Target> {
  const { name: integration } = request.params as { readonly name: string };
  const target = await targets.named(name);
  const isThere =
    target?.integration === integration &&
    mayReadInstallation(principalOf(request), { ...name, integration, organization: target.organization });
  if (target === undefined || !isThere) throw unknownTarget(name);
  if (scope !== undefined && !target.environment.integration.scopes.includes(scope))
    throw new AnnexError(
      'SCOPE_MISSING',
      `The manifest of "${integration}" does not have the scope \`${scope}\`, which this call needs.`,
    );
  if (target.status !== 'paused') return target;
  throw new AnnexError(
    'ENDPOINT_PAUSED',
    'The installation is paused: its code cannot be called until it is resumed.',
  );
}
