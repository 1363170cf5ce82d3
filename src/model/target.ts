/**
 * What a call is for: one installation of one integration, at its active version, as the doors and the dispatcher need
 * it. Built by the registry, cached, and replaced whole when anything in it changes; never mutated.
 */
import type { Limits } from '../limits.ts';
import type { IsolateLimits } from '../wire.ts';
import type { EgressHosts } from './egress-hosts.ts';
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
  /** What holds for its calls: the deployment's own object, unless the operator has lowered any for this integration. */
  readonly limits: Limits;
  /** Those of them that its isolate keeps, where they are not the deployment's. */
  readonly isolateLimits?: IsolateLimits;
  /** Key of its isolate: another one for each version, and for each set of limits. */
  readonly isolate: string;
  readonly environment: Environment;
  /** `environment` as the JSON text that goes into every call, encoded once. */
  readonly environmentJson: Uint8Array;
  /** The hosts that its fetches may reach; absent where the manifest does not say. */
  readonly egress?: EgressHosts;
  /** Secrets with which a sender may sign envelopes for this endpoint: the target's own. */
  readonly signingSecrets: readonly string[];
}

/** Key of a script in the cells: one published version. */
export const scriptKey = (integration: string, version: number): string => `${integration}@${version}`;

/** The version that a script's key names. */
export const scriptVersion = (script: string): number => Number(script.slice(script.lastIndexOf('@') + 1));

/** Key of an isolate in the cells. */
export function isolateKey(
  installationId: string,
  integration: string,
  version: number,
  limits: IsolateLimits | undefined,
): string {
  const key = `${installationId}/${scriptKey(integration, version)}`;
  return limits === undefined ? key : `${key}/${Object.values(limits).join('.')}`;
}
