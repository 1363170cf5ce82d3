/**
 * A resolved target: one target of an integration at its active version, with all that a call
 * needs. The registry builds and caches it, and replaces the whole object when anything in it
 * changes; only its tokens are renewed in place.
 */
import type { Limits } from '../limits.ts';
import type { IsolateLimits } from '../protocol/wire.ts';
import type { Environment } from './environment.ts';
import type { InstallationStatus, TargetName } from './installation.ts';
import type { EndpointLevel } from './level.ts';
import type { DeclaredCall } from './manifest/declared-call.ts';
import type { EgressHosts } from './manifest/egress-hosts.ts';
import type { Schedule } from './manifest/schedule.ts';
import type { WebhookDeclaration } from './manifest/webhook.ts';
import type { Assets } from './manifest/worker.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import type { SignatureScheme } from './signature.ts';

export interface Target {
  /**
   * Key of the tenant: limits, isolation, suspicion and logs are counted by it. It is the id of the
   * installation, or that of the integration's own endpoint (`integrationTenant`).
   */
  readonly tenant: string;
  /** Empty at the level of the integration. */
  readonly installationId: string;
  readonly level: EndpointLevel;
  /** Id of the space or the site; empty at the other levels. */
  readonly place: string;
  /** Opaque key in the public URL (`docs/contract/endpoints.md#urls`). */
  readonly endpointKey: string;
  /** Absolute URL of the endpoint, no trailing slash. */
  readonly publicEndpoint: string;
  /** The same on the origin without cookies; the same text where there is none. */
  readonly publicContentEndpoint: string;
  /** URL of envelopes as a module worker sees it (`docs/contract/calls.md#envelope`). */
  readonly envelopeUrl: string;
  readonly integration: string;
  /** When the integration was first published, in milliseconds since 1970. */
  readonly since: number;
  /** Number of the active version. */
  readonly version: number;
  readonly organization: string;
  /** Space and site installations are paused with their installation. */
  readonly status: InstallationStatus;
  /**
   * Opaque version tag; changes with the target or its active version.
   */
  readonly revision: string;
  /**
   * When it was last paused, by itself or with its installation, in milliseconds since 1970. Kept
   * after it is resumed; absent where it never was paused.
   */
  readonly pausedAt?: number;
  /**
   * Limits of its calls: the deployment's own object, unless the operator has lowered any for this
   * integration.
   */
  readonly limits: Limits;
  /** The limits of its isolate, where they differ from the deployment's. */
  readonly isolateLimits?: IsolateLimits;
  /**
   * Key of its isolate. An installation and its space and site installations share one, separate
   * for each version and set of limits; the integration's own endpoint has another.
   */
  readonly isolate: string;
  /** The whole installation was deleted: this is for the event of its removal. */
  readonly isRemoved?: true;
  /**
   * Read it when a call starts and do not keep it: its tokens are only valid for a call that starts
   * soon.
   */
  readonly environment: Environment;
  /**
   * `environment` as encoded JSON for calls, shared by all calls of 30 seconds.
   */
  readonly environmentJson: Uint8Array;
  /** The hosts that its fetches may reach; absent where the manifest has no `egress`. */
  readonly egress?: EgressHosts;
  /**
   * Default `Content-Security-Policy` header of its pages; absent where the manifest has none.
   */
  readonly contentSecurityPolicy?: string;
  /** Event types that its code has handlers for; absent where they are not known. */
  readonly handles?: ReadonlySet<string>;
  /**
   * The settings that hold the webhook's URL and its event types; absent where it posts no
   * webhooks.
   */
  readonly webhook?: WebhookDeclaration;
  /** The schedule that its webhooks follow; absent where it posts none. */
  readonly webhookRetries?: RetrySchedule;
  /** The scheme by which its webhooks are signed; absent where it posts none. */
  readonly webhookSignature?: SignatureScheme;
  /** Requests per second to its receiver, at most; unbounded where it is absent. */
  readonly webhookRate?: number;
  /** The schedule by which failures of its code are retried; absent where these are final. */
  readonly handlerRetries?: RetrySchedule;
  /** What the service queues for it by itself; absent where there is nothing. */
  readonly schedules?: readonly Schedule[];
  /** How its static files are served; absent where there are none. */
  readonly assets?: Assets;
  /** What the product may ask it; absent where there is nothing. */
  readonly calls?: readonly DeclaredCall[];
  /** Secrets that verify the signatures of envelopes for this endpoint. */
  readonly signingSecrets: readonly string[];
}

/** The target with less time for its calls; the target itself if its limits are lower already. */
export function withinTime<T extends Pick<Target, 'limits'>>(target: T, ms: number): T {
  const { callWallMs, firstByteMs } = target.limits;
  if (firstByteMs <= ms && callWallMs <= ms) return target;
  const limits = {
    ...target.limits,
    callWallMs: Math.min(callWallMs, ms),
    firstByteMs: Math.min(firstByteMs, ms),
  };
  return { ...target, limits };
}

/** Names one endpoint: a target of an installation, or the integration as a whole. */
export type EndpointName = Pick<Target, 'installationId' | 'level' | 'place'>;

/** The same name among targets of installations; undefined at the level of the integration. */
export const installedName = ({ installationId, level, place }: EndpointName): TargetName | undefined =>
  level === 'integration' ? undefined : { installationId, level, place };

/** The ids of a target, as members of each of its events (`docs/contract/calls.md#event-ids`). */
export const eventIds = ({ installationId, level, place }: EndpointName): EventIds => {
  if (level === 'integration') return {};
  if (level === 'space') return { installationId, spaceId: place };
  return level === 'site' ? { installationId, siteId: place } : { installationId };
};

/** All are absent at the level of the integration. */
export interface EventIds {
  readonly installationId?: string;
  readonly spaceId?: string;
  readonly siteId?: string;
}

/**
 * Key of the tenant behind an integration's own endpoint. Made of the endpoint's key: attack, an
 * integration published under the name of a deleted one, to read the log lines that calls of the
 * former owner left behind. Short enough for a record of the cells' journal, and without a slash,
 * which ends the owner in the key of an isolate.
 */
export const integrationTenant = (endpointKey: string): string => `${INTEGRATION_TENANT}${endpointKey}`;
const INTEGRATION_TENANT = 'int_';

/** Key of the endpoint in the key of such a tenant; undefined for an installation's. */
export const integrationKeyIn = (tenant: string): string | undefined =>
  tenant.startsWith(INTEGRATION_TENANT) ? tenant.slice(INTEGRATION_TENANT.length) : undefined;

/** Key of a script in the cells: one published version. */
export const scriptKey = (integration: string, version: number): string => `${integration}@${version}`;

/** The version that a script's key names. */
export const scriptVersion = (script: string): number => Number(script.slice(script.lastIndexOf('@') + 1));

/** Key of an isolate in the cells. */
export function isolateKey(
  tenant: string,
  integration: string,
  version: number,
  limits: IsolateLimits | undefined,
): string {
  const key = `${tenant}/${scriptKey(integration, version)}`;
  return limits === undefined ? key : `${key}/${Object.values(limits).join('.')}`;
}
