/**
 * What a call is for: one installation of one integration, at its active version, as the doors and the dispatcher need
 * it. Built by the registry, cached, and replaced whole when anything in it changes; never mutated.
 */
import type { Environment } from './environment.ts';
import type { InstallationStatus } from './installation.ts';

export interface Target {
  /** Opaque key in the public URL (REFERENCE D7). */
  readonly endpointKey: string;
  /** Absolute URL of the endpoint, no trailing slash. */
  readonly publicEndpoint: string;
  readonly integration: string;
  /** Number of the active version. */
  readonly version: number;
  readonly installationId: string;
  readonly organization: string;
  readonly status: InstallationStatus;
  readonly environment: Environment;
  /** `environment` as the JSON text that goes into every call, encoded once. */
  readonly environmentJson: Uint8Array;
  /** Secrets with which a sender may sign envelopes for this endpoint: the target's own. */
  readonly signingSecrets: readonly string[];
}

/** Key of a script in the cells: one published version. */
export const scriptKey = (integration: string, version: number): string => `${integration}@${version}`;
