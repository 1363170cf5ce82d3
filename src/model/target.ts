/**
 * What a call is for: one target of one integration, at its active version, as the doors and the
 * dispatcher need it. Built by the registry, cached, and replaced whole when anything in it
 * changes; only its tokens are made anew while it stays.
 */
import type { Limits } from '../limits.ts';
import type { IsolateLimits } from '../protocol/wire.ts';
import type { Environment } from './environment.ts';
import type { InstallationStatus, TargetName } from './installation.ts';
import type { EgressHosts } from './manifest/egress-hosts.ts';
import type { WebhookDeclaration } from './manifest/webhook.ts';

/** Its `level` is that of its endpoint; `place` the space's or the site's id. */
export interface Target extends TargetName {
  /** Opaque key in the public URL (`docs/contract/endpoints.md#urls`). */
  readonly endpointKey: string;
  /** Absolute URL of the endpoint, no trailing slash. */
  readonly publicEndpoint: string;
  readonly integration: string;
  /** Number of the active version. */
  readonly version: number;
  readonly organization: string;
  /** What of an installation is in a space or a site is paused with it. */
  readonly status: InstallationStatus;
  /**
   * Another one after each change of the target, or of the code: what was said of it before may not
   * hold any more.
   */
  readonly revision: string;
  /**
   * When it was paused last, by itself or with its installation, resumed since or not; absent where
   * it never was.
   */
  readonly pausedAt?: number;
  /**
   * What holds for its calls: the deployment's own object, unless the operator has lowered any for
   * this integration.
   */
  readonly limits: Limits;
  /** Those of them that its isolate keeps, where they are not the deployment's. */
  readonly isolateLimits?: IsolateLimits;
  /**
   * Key of its isolate, one for an installation with all that is below it: another for each version
   * and set of limits.
   */
  readonly isolate: string;
  /**
   * To be read when a call is handed over and not kept: its tokens are good for a call that begins
   * soon.
   */
  readonly environment: Environment;
  /**
   * `environment` as the JSON text that goes into every call, encoded once for all calls of half a
   * minute.
   */
  readonly environmentJson: Uint8Array;
  /** The hosts that its fetches may reach; absent where the manifest does not say. */
  readonly egress?: EgressHosts;
  /**
   * The header of its pages that bring none of their own; absent where the manifest does not say.
   */
  readonly contentSecurityPolicy?: string;
  /** Types of the events that its code has handlers for; absent where only the code can tell. */
  readonly handles?: ReadonlySet<string>;
  /**
   * Where its configuration says what is posted where, and which events are meant; absent where it
   * posts no webhooks.
   */
  readonly webhook?: WebhookDeclaration;
  /** Secrets with which a sender may sign envelopes for this endpoint: the target's own. */
  readonly signingSecrets: readonly string[];
}

/** The ids of a target, as each of its events carries them (`docs/contract/calls.md#event-ids`). */
export const eventIds = ({ installationId, level, place }: TargetName): EventIds => {
  if (level === 'space') return { installationId, spaceId: place };
  return level === 'site' ? { installationId, siteId: place } : { installationId };
};

export interface EventIds {
  readonly installationId: string;
  readonly spaceId?: string;
  readonly siteId?: string;
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
