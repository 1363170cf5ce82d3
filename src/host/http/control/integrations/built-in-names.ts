/**
 * Which integration the name of a built-in one means, once another integration has that name
 * (docs/contract/manifest.md#members): the installations of the built-in keep their paths, and
 * organizations that may not see the other one find the built-in.
 */
import type { FastifyInstance } from 'fastify';
import { BUILT_IN_ORGANIZATION, BUILT_INS, movedBuiltIn } from '../../../../model/identifiers.ts';
import { wholeInstallation } from '../../../../model/installation.ts';
import { isRuntime } from '../../../../model/principal.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { principalOf } from '../authenticate.ts';
import type { ControlDeps } from '../control.ts';

/** Parameters are not checked yet where this runs. */
const INSTALLATION_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Rewrites the name in the paths of the routes of this instance. It runs after `authenticate`. */
export function answerBuiltInNames(
  app: FastifyInstance,
  { registry, installations }: Pick<ControlDeps, 'registry' | 'installations'>,
): void {
  app.addHook('onRequest', async (request) => {
    const params = request.params as { name?: string; id?: string };
    const { name = '', id } = params;
    // The question of a browser before a request has no principal, and means no integration.
    if (!isBuiltInName(name) || request.routeOptions.config.preflight) return;
    const principal = principalOf(request);
    if (id !== undefined && INSTALLATION_ID.test(id)) {
      const installed = await installations.read(wholeInstallation(id));
      if (installed?.integration === movedBuiltIn(name)) params.name = installed.integration;
    } else if (!isRuntime(principal)) params.name = await meantBy(registry, name, principal.organization);
  });
}

/**
 * The name of the integration that an organization means: another one's private integration is not
 * in the place of the built-in. @param organization undefined for the operator and the product
 */
export async function meantBy(
  registry: Pick<Registry, 'integration'>,
  name: string,
  organization: string | undefined,
): Promise<string> {
  if (!isBuiltInName(name)) return name;
  const named = await registry.integration(name);
  const isOwn = organization === undefined || named?.organization === organization;
  if (named !== undefined && (isOwn || named.visibility !== 'private')) return name;
  const moved = movedBuiltIn(name);
  return (await registry.integration(moved))?.organization === BUILT_IN_ORGANIZATION ? moved : name;
}

const isBuiltInName = (name: string): boolean => BUILT_INS.some((builtIn) => builtIn === name);
