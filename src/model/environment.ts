/**
 * The environment: everything that the code of one target may see
 * (`docs/contract/environment.md#members`).
 *
 * Built by one pure function from stored values. It cannot contain data of another target, because
 * none is passed in. A space or site installation also sees the installation that it is part of; an
 * installation does not see those below it; the integration's own endpoint sees none of them.
 * Members are present in two shapes: nested, and flat for the most specific target. The SDK renames
 * some for its users (`sandbox/sdk/sdk-environment.ts`).
 */
import type { IntegrationUrls, Owner, TargetUrls } from './endpoint-urls.ts';
import { BUILT_IN_ORGANIZATION } from './identifiers.ts';
import type { InstallationStatus, Selection, TargetName } from './installation.ts';
import type { PublishedManifest } from './manifest/manifest.ts';
import type { Visibility } from './manifest/visibility.ts';

export interface EnvironmentIntegration {
  readonly object: 'integration';
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: number;
  readonly visibility: Visibility;
  readonly target: PublishedManifest['target'];
  readonly verified: boolean;
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly externalLinks: PublishedManifest['externalLinks'];
  /** URLs. */
  readonly previewImages: readonly string[];
  readonly owner: Owner;
  /** Whether the code may publish and manage the integration: never. */
  readonly permissions: { readonly admin: false };
  /** Its endpoint is the integration's own. */
  readonly urls: IntegrationUrls;
}

/** Members that targets of all levels have. */
interface EnvironmentTarget {
  readonly status: InstallationStatus;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly externalIds: readonly string[];
  /** Of the target itself. */
  readonly urls: TargetUrls;
}

export interface EnvironmentInstallation extends EnvironmentTarget {
  readonly id: string;
  readonly target: { readonly organization: string };
  readonly space_selection: Selection;
  readonly site_selection: Selection;
  /** Number of spaces that it was added to. */
  readonly spaces: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly updatedAt: string;
}

export interface EnvironmentPlace extends EnvironmentTarget {
  /** Name of the integration. */
  readonly integration: string;
  /** Id of the installation that the target is part of. */
  readonly installation: string;
}

export interface EnvironmentSpace extends EnvironmentPlace {
  readonly space: string;
}

export interface EnvironmentSite extends EnvironmentPlace {
  readonly site: string;
}

/** Runtime tokens (`docs/contract/environment.md#runtime-tokens`). */
export interface ApiTokens {
  readonly integration: string;
  /** Absent where the installation is deleted, and at the integration's own endpoint. */
  readonly installation?: string;
}

/** Keys of envelope signatures: one of the integration, and one of each target of the call. */
export interface SigningSecrets {
  readonly integration: string;
  readonly installation?: string;
  readonly spaceInstallation?: string;
  readonly siteInstallation?: string;
}

/** At the integration's own endpoint, the members of an installation are absent. */
export interface Environment {
  /** Base URL of the API, without the version. */
  readonly apiEndpoint: string;
  readonly apiTokens: ApiTokens;
  readonly secrets: Readonly<Record<string, string>>;
  readonly signingSecrets: SigningSecrets;
  readonly integration: EnvironmentIntegration;
  readonly installation?: EnvironmentInstallation;
  readonly spaceInstallation?: EnvironmentSpace;
  readonly siteInstallation?: EnvironmentSite;
  /** Flat members (`docs/contract/environment.md#flat-members`), for the most specific target. */
  readonly id?: string;
  readonly space?: string;
  readonly site?: string;
  readonly status?: InstallationStatus;
  readonly target?: { readonly organization: string };
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly externalIds?: readonly string[];
  readonly urls?: TargetUrls;
  readonly space_selection?: Selection;
}

/** A target with its credentials decrypted. */
export interface TargetDeps extends TargetName {
  readonly status: InstallationStatus;
  /** `oauth_credentials` included, where they are set. */
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly externalIds: readonly string[];
  readonly urls: TargetUrls;
}

/** The input of a target's environment, without the runtime tokens. */
export interface EnvironmentDeps {
  /** Base URL of the API, without the version. */
  readonly apiEndpoint: string;
  readonly manifest: PublishedManifest;
  readonly version: number;
  /**
   * Values of the integration's secrets. Secrets that this version's manifest does not declare are
   * left out.
   */
  readonly secrets: ReadonlyMap<string, string>;
  readonly signingSecrets: SigningSecrets;
  readonly urls: IntegrationUrls;
  readonly owner: Owner;
  /** URLs. */
  readonly previewImages: readonly string[];
  /** Absent at the integration's own endpoint. */
  readonly installation?: TargetDeps & {
    readonly organization: string;
    readonly spaceSelection: Selection;
    readonly siteSelection: Selection;
    readonly spaces: number;
    /** Milliseconds since 1970. */
    readonly createdAt: number;
    readonly updatedAt: number;
  };
  /**
   * The space or site installation that the environment is for; absent for the installation itself.
   */
  readonly below?: TargetDeps;
}

/** Builds the environment of a target, without its runtime tokens, which are renewed regularly. */
export function buildEnvironment(deps: EnvironmentDeps): Omit<Environment, 'apiTokens'> {
  const { manifest, installation, below } = deps;
  return {
    apiEndpoint: deps.apiEndpoint,
    secrets: named(manifest.secrets, deps.secrets),
    signingSecrets: deps.signingSecrets,
    integration: {
      object: 'integration',
      name: manifest.name,
      title: manifest.title,
      description: manifest.description,
      version: deps.version,
      visibility: manifest.visibility,
      target: manifest.target,
      verified: isVerified(manifest.organization),
      scopes: manifest.scopes,
      categories: manifest.categories,
      externalLinks: manifest.externalLinks,
      previewImages: deps.previewImages,
      owner: deps.owner,
      permissions: { admin: false },
      urls: deps.urls,
    },
    ...(installation && installedMembers(manifest.name, installationView(installation), below)),
  };
}

/** Whether an integration of this owner comes with Annex, which vouches for its code. */
export const isVerified = (organization: string): boolean => organization === BUILT_IN_ORGANIZATION;

/** The members of an installation and of the target below it, nested and flat. */
function installedMembers(
  integration: string,
  installation: EnvironmentInstallation,
  below: TargetDeps | undefined,
) {
  const { id, target, space_selection } = installation;
  return {
    installation,
    ...(below && placeView(integration, below)),
    id,
    target,
    space_selection,
    ...(below?.level === 'space' && { space: below.place }),
    ...(below?.level === 'site' && { site: below.place }),
    ...(below === undefined ? shown(installation) : targetView(below)),
  };
}

const targetView = ({ status, configuration, externalIds, urls }: TargetDeps) => ({
  status,
  configuration,
  externalIds,
  urls,
});

const shown = ({ status, configuration, externalIds, urls }: EnvironmentTarget): EnvironmentTarget => ({
  status,
  configuration,
  externalIds,
  urls,
});

const installationView = (
  installation: NonNullable<EnvironmentDeps['installation']>,
): EnvironmentInstallation => ({
  id: installation.installationId,
  target: { organization: installation.organization },
  space_selection: installation.spaceSelection,
  site_selection: installation.siteSelection,
  spaces: installation.spaces,
  ...targetView(installation),
  createdAt: new Date(installation.createdAt).toISOString(),
  updatedAt: new Date(installation.updatedAt).toISOString(),
});

function placeView(
  integration: string,
  below: TargetDeps,
): Pick<Environment, 'spaceInstallation' | 'siteInstallation'> {
  const view = { integration, installation: below.installationId, ...targetView(below) };
  return below.level === 'space'
    ? { spaceInstallation: { ...view, space: below.place } }
    : { siteInstallation: { ...view, site: below.place } };
}

function named(names: readonly string[], values: ReadonlyMap<string, string>): Record<string, string> {
  const found: [string, string][] = [];
  for (const name of names) {
    const value = values.get(name);
    if (value !== undefined) found.push([name, value]);
  }
  return Object.fromEntries(found);
}
