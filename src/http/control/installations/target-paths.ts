/**
 * Paths of targets in the API (docs/contract/endpoints.md#levels): places of an installation have
 * the same routes as the installation itself.
 */
import Type, { type Static } from 'typebox';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import type { EndpointLevel, Level } from '../../../model/level.ts';
import { Name, Place } from '../schemas.ts';

/** Path of an integration's installations. */
export const INSTALLATIONS = '/integrations/:name/installations';
const INSTALLATION = `${INSTALLATIONS}/:id`;

export const TARGET_PATHS: Readonly<Record<Level, string>> = {
  organization: INSTALLATION,
  space: `${INSTALLATION}/spaces/:space`,
  site: `${INSTALLATION}/sites/:site`,
};

const params = { name: Name, id: Name };

export const TARGET_PARAMS = {
  organization: Type.Object(params),
  space: Type.Object({ ...params, space: Place }),
  site: Type.Object({ ...params, site: Place }),
};

/** Parameters of the path of a target at any level. */
export type TargetParams = Static<typeof TARGET_PARAMS.organization> & {
  readonly space?: string;
  readonly site?: string;
};

/** The target that a path names. */
export const targetNameOf = (level: Level, { id, space = '', site = '' }: TargetParams): TargetName =>
  level === 'organization'
    ? wholeInstallation(id)
    : { installationId: id, level, place: level === 'space' ? space : site };

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
