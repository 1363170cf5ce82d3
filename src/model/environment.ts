/**
 * The environment context: what code of one target may see of the world (SPEC "Environment context", REFERENCE 2).
 *
 * Built by one pure function from what the registry holds; nothing of another target can be in it because nothing of
 * another target is passed in.
 */

import type { InstallationStatus } from './installation.ts';
import type { PublishedManifest } from './manifest.ts';

export interface EnvironmentIntegration {
  readonly name: string;
  readonly title: string;
  readonly version: number;
  readonly visibility: string;
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly owner: { readonly id: string };
  /** The public endpoint of the most specific target of the call. */
  readonly urls: { readonly publicEndpoint: string };
}

export interface EnvironmentInstallation {
  readonly id: string;
  readonly status: InstallationStatus;
  readonly target: { readonly organization: string };
  readonly space_selection: 'all' | 'selected';
  readonly site_selection: 'all' | 'selected';
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly externalIds: readonly string[];
  readonly urls: { readonly publicEndpoint: string };
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly updatedAt: string;
}

export interface Environment {
  readonly apiEndpoint: string;
  readonly apiTokens: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly signingSecrets: { readonly integration: string; readonly installation?: string };
  readonly integration: EnvironmentIntegration;
  readonly installation?: EnvironmentInstallation;
  /** Flat keys of the specification's table, for the most specific target. */
  readonly id?: string;
  readonly status?: InstallationStatus;
  readonly target?: { readonly organization: string };
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly externalIds?: readonly string[];
  readonly urls?: { readonly publicEndpoint: string };
  readonly space_selection?: 'all' | 'selected';
}

/** Everything of which an installation's environment is made. */
export interface EnvironmentParts {
  /** Base URL of the API. */
  readonly apiEndpoint: string;
  /** Public endpoint of the installation. */
  readonly publicEndpoint: string;
  readonly manifest: PublishedManifest;
  readonly version: number;
  /** Values of the integration's secrets; those that this version's manifest does not name stay out. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly signingSecrets: { readonly integration: string; readonly installation: string };
  readonly installation: {
    readonly id: string;
    readonly organization: string;
    readonly status: InstallationStatus;
    readonly configuration: Readonly<Record<string, unknown>>;
    readonly externalIds: readonly string[];
    /** Milliseconds since 1970. */
    readonly createdAt: number;
    readonly updatedAt: number;
  };
}

/** The environment of an organization installation, flat keys included. */
export function buildEnvironment(parts: EnvironmentParts): Environment {
  const { manifest, installation } = parts;
  const urls = { publicEndpoint: parts.publicEndpoint };
  const { id, status, configuration, externalIds } = installation;
  const target = { organization: installation.organization };
  return {
    apiEndpoint: parts.apiEndpoint,
    apiTokens: {},
    secrets: named(manifest.secrets, parts.secrets),
    signingSecrets: parts.signingSecrets,
    integration: {
      name: manifest.name,
      title: manifest.title,
      version: parts.version,
      visibility: manifest.visibility,
      scopes: manifest.scopes,
      categories: manifest.categories,
      owner: { id: manifest.organization },
      urls,
    },
    installation: {
      id,
      status,
      target,
      space_selection: 'all',
      site_selection: 'all',
      configuration,
      externalIds,
      urls,
      createdAt: new Date(installation.createdAt).toISOString(),
      updatedAt: new Date(installation.updatedAt).toISOString(),
    },
    id,
    status,
    target,
    configuration,
    externalIds,
    urls,
    space_selection: 'all',
  };
}

function named(names: readonly string[], values: ReadonlyMap<string, string>): Record<string, string> {
  const found: [string, string][] = [];
  for (const name of names) {
    const value = values.get(name);
    if (value !== undefined) found.push([name, value]);
  }
  return Object.fromEntries(found);
}
