/**
 * Counts a change of an installation before its body is read.
 *
 * Attack: changes that are refused. Each costs the host its body, JSON and validation, and if only
 * accepted changes were counted, there could be any number. So a change counts when its token and
 * path are known, whatever its outcome.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { TargetName } from '../../../model/installation.ts';
import type { Level } from '../../../model/level.ts';
import { isRuntime, type Principal } from '../../../model/principal.ts';
import { type SchemaCheck, schemaCheck } from '../../../model/schema-check.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { principalOf } from '../authenticate.ts';
import { Name } from '../schemas.ts';
import type { EditRate, EditsOf } from './edit-rate.ts';
import { visibleTarget } from './installation-rights.ts';
import { TARGET_PARAMS, type TargetParams, targetNameOf } from './target-paths.ts';

const checkName = schemaCheck(Type.Object({ name: Name }));

export interface CountedEditParts {
  readonly installations: Pick<Installations, 'read'>;
  readonly edits: EditRate;
}

type OnRequest = (request: FastifyRequest) => Promise<void>;

/**
 * `onRequest` of a route that changes the target of its path. @throws AnnexError
 * REQUEST_RATE_EXCEEDED
 */
export function countedEdit({ installations, edits }: CountedEditParts, level: Level): OnRequest {
  const check = schemaCheck(TARGET_PARAMS[level]);
  return async (request) => edits.take(request, await editsOf(request, check, level, installations));
}

async function editsOf(
  request: FastifyRequest,
  check: SchemaCheck,
  level: Level,
  installations: Pick<Installations, 'read'>,
): Promise<EditsOf> {
  // Paths are validated later; an invalid one must not reach the store.
  if (check(request.params).length > 0) return ofNone(principalOf(request));
  const params = request.params as TargetParams;
  const name: TargetName = targetNameOf(level, params);
  const found = visibleTarget(installations, request, params.name, name);
  return found.catch(() => ofNone(principalOf(request)));
}

/**
 * Changes of unknown targets count together for each token. Attack: another made-up name for each
 * request.
 */
const ofNone = (principal: Principal): EditsOf =>
  isRuntime(principal)
    ? { integration: principal.integration, organization: '' }
    : { integration: '', organization: principal.organization ?? '' };

/**
 * `onRequest` of the route that installs: an organization installs for itself, so its token names
 * the organization. Installs of unknown integrations count together.
 */
export const countedInstall =
  ({ edits, registry }: Pick<CountedEditParts, 'edits'> & InstallableParts): OnRequest =>
  async (request) => {
    const none = ofNone(principalOf(request));
    // As above: an invalid name must not reach the store.
    const isName = checkName(request.params).length === 0;
    const { name } = request.params as { readonly name: string };
    const known = isName ? await registry.integration(name) : undefined;
    return edits.take(request, known === undefined ? none : { ...none, integration: known.name });
  };

interface InstallableParts {
  readonly registry: Pick<Registry, 'integration'>;
}
