/**
 * Where the targets of each level are in the API (REFERENCE D9): what is below an installation has the same routes as the
 * installation itself.
 */
import Type, { type Static } from 'typebox';
import { type Level, type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { Name, Place } from '../schemas.ts';

/** Where an integration's installations are. */
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

/** What a path names, at any level. */
export type TargetParams = Static<typeof TARGET_PARAMS.organization> & {
  readonly space?: string;
  readonly site?: string;
};

/** The target that a path names. */
export const targetNameOf = (level: Level, { id, space = '', site = '' }: TargetParams): TargetName =>
  level === 'organization'
    ? wholeInstallation(id)
    : { installationId: id, level, place: level === 'space' ? space : site };

/** How an answer names the space or the site that something is in; nothing where it is in neither. */
export function placeView({ level, place = '' }: { readonly level?: Level; readonly place?: string }): {
  space?: string;
  site?: string;
} {
  if (level === 'space') return { space: place };
  return level === 'site' ? { site: place } : {};
}

/** How a summary speaks of a target. */
export const TARGET_NOUNS: Readonly<Record<Level, string>> = {
  organization: 'an installation',
  space: 'an installation in a space',
  site: 'an installation in a site',
};
