/**
 * The targets that paths of the API name (docs/contract/endpoints.md#levels): places of an
 * installation have the same routes as the installation itself. Finds the target of a path, and
 * refuses what the token may not do with it.
 *
 * The rules are in `model/principal.ts`. A target that the caller may not see is answered as
 * unknown. A field that code may not change is refused by name for any target, so that a refusal
 * does not reveal which targets exist.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { type TargetName, wholeInstallation } from '../../../../model/installation.ts';
import type { EndpointLevel, Level } from '../../../../model/level.ts';
import type { Scope } from '../../../../model/manifest/scope.ts';
import { isRuntime, mayEdit, mayReadInstallation, type Principal } from '../../../../model/principal.ts';
import { schemaCheck } from '../../../../model/schema-check.ts';
import type { Target } from '../../../../model/target.ts';
import { unknownTarget } from '../../../../model/unknown-name-errors.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { principalOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import type { EditsOf } from '../rates.ts';
import type { Counter } from '../route.ts';
import { Name, Place } from '../schemas.ts';

/** Path of an integration's installations. */
export const INSTALLATIONS = '/integrations/:name/installations';
export const INSTALLATION = `${INSTALLATIONS}/:id` as const;

export const TARGET_PATHS = {
  organization: INSTALLATION,
  space: `${INSTALLATION}/spaces/:space`,
  site: `${INSTALLATION}/sites/:site`,
} as const;

export const INSTALLATION_PARAMS = { name: Name, id: Name };

/** Parameters of those paths. */
export const TARGET_PARAMS = {
  organization: INSTALLATION_PARAMS,
  space: { ...INSTALLATION_PARAMS, space: Place },
  site: { ...INSTALLATION_PARAMS, site: Place },
};

interface TargetParams {
  readonly name: string;
  readonly id: string;
  readonly space?: string;
  readonly site?: string;
}

/** Nouns of the operations on a target. */
export const TARGET_TAGS = { organization: 'installations', space: 'spaces', site: 'sites' } as const;

/** Members that name the space or site of a target; none at other levels. */
export function placeView({
  level,
  place = '',
}: {
  readonly level?: EndpointLevel;
  readonly place?: string;
}): {
  space?: string;
  site?: string;
} {
  if (level === 'space') return { space: place };
  return level === 'site' ? { site: place } : {};
}

/** Names of targets in summaries. */
export const TARGET_NOUNS: Readonly<Record<Level, string>> = {
  organization: 'an installation',
  space: 'an installation in a space',
  site: 'an installation in a site',
};

/** The target that the path of a request names. */
export function targetNameOf({ params }: FastifyRequest, level: Level): TargetName {
  const { id, space = '', site = '' } = params as TargetParams;
  if (level === 'organization') return wholeInstallation(id);
  return { installationId: id, level, place: level === 'space' ? space : site };
}

/**
 * The installed target that the path names, at a level of it. @throws AnnexError
 * INSTALLATION_UNKNOWN if the caller may see none
 */
export async function visibleTarget(
  { installations }: Pick<Control, 'installations'>,
  request: FastifyRequest,
  level: Level,
  use?: 'toRemove',
): Promise<Installation> {
  const name = targetNameOf(request, level);
  const { name: integration } = request.params as TargetParams;
  const found = await installations.read(name, use);
  const isVisible = found?.integration === integration && mayReadInstallation(principalOf(request), found);
  if (found !== undefined && isVisible) return found;
  throw unknownTarget(name);
}

/** What a call needs besides a token that may see its target. */
interface Callable {
  readonly scope?: Scope;
  /** What cannot be done while the target is paused. */
  readonly paused?: string;
}

/**
 * The target of a call: visible to the token, with the scope of the call, and not paused. @throws
 * AnnexError INSTALLATION_UNKNOWN, SCOPE_MISSING, ENDPOINT_PAUSED
 */
export async function callableTarget(
  { targets }: Pick<Control, 'targets'>,
  request: FastifyRequest,
  name: TargetName,
  { scope, paused = 'its code cannot be called' }: Callable = {},
): Promise<Target> {
  const { name: integration } = request.params as TargetParams;
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
  throw new AnnexError('ENDPOINT_PAUSED', `The installation is paused: ${paused} until it is resumed.`);
}

/** @throws AnnexError TOKEN_FORBIDDEN, naming every field that the token may not change */
export function requireEditable(request: FastifyRequest, edit: object): void {
  const principal = principalOf(request);
  const refused = Object.keys(edit).filter((field) => !mayEdit(principal, field));
  if (refused.length === 0) return;
  const fields = refused.map((field) => `"${field}"`).join(', ');
  throw new AnnexError('TOKEN_FORBIDDEN', `A token of kind ${principal.kind} may not change ${fields}.`);
}

const checkName = schemaCheck(Type.Object({ name: Name }));

/**
 * Counts a change of the target of the path.
 *
 * Attack: changes that are refused. Each costs the host its body, JSON and validation, and if only
 * accepted changes were counted, there could be any number. So a change counts when its token and
 * path are known, whatever its outcome.
 */
export function countedEdit(level: Level): Counter {
  const check = schemaCheck(Type.Object(TARGET_PARAMS[level]));
  return async (request, control) => {
    const none = ofNone(principalOf(request));
    // Paths are validated later; an invalid one must not reach the store.
    const isValid = check(request.params).length === 0;
    const of = isValid ? await visibleTarget(control, request, level).catch(() => none) : none;
    control.rates.edit(request, of);
  };
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
 * Counts an install: an organization installs for itself, so its token names the organization.
 * Installs of unknown integrations count together.
 */
export const countedInstall: Counter = async (request, { rates, registry }) => {
  const none = ofNone(principalOf(request));
  // As above: an invalid name must not reach the store.
  const isName = checkName(request.params).length === 0;
  const { name } = request.params as { readonly name: string };
  const known = isName ? await registry.integration(name) : undefined;
  rates.edit(request, known === undefined ? none : { ...none, integration: known.name });
};
