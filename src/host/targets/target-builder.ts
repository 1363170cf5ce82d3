/**
 * Builds a target from what the store has of it: once for each change, never for a call.
 *
 * Everything that is constant for a target is made here, its environment included; only its runtime
 * tokens are renewed later. Reads nothing and caches nothing: `target-resolver.ts` does.
 */
import type { Limits } from '../../limits.ts';
import { envelopeUrl } from '../../model/endpoint-url.ts';
import {
  endpointUrls,
  imageUrl,
  integrationUrls,
  ownerOf,
  targetUrls,
  type UrlBases,
} from '../../model/endpoint-urls.ts';
import {
  type ApiTokens,
  buildEnvironment,
  type Environment,
  type SigningSecrets,
  type TargetDeps,
} from '../../model/environment.ts';
import { webhookAt } from '../../model/event-choices.ts';
import type { TargetName } from '../../model/installation.ts';
import { isolateLimits, limitsUnder } from '../../model/lowered-limits.ts';
import { policyHeader } from '../../model/manifest/content-security-policy.ts';
import { EgressHosts } from '../../model/manifest/egress-hosts.ts';
import type { PublishedManifest } from '../../model/manifest/manifest.ts';
import { schedulesAt } from '../../model/manifest/schedule.ts';
import { webhookChoices } from '../../model/manifest/webhook.ts';
import { type RetrySchedule, retrySchedule } from '../../model/retry-schedule.ts';
import type { SignatureScheme } from '../../model/signature.ts';
import { integrationTenant, isolateKey, type Target } from '../../model/target.ts';
import type { Installation } from '../store/installations/target-rows.ts';
import type { EndpointRecord, InstalledRecord } from '../store/target-source.ts';
import type { RuntimeTokenMint } from './runtime-tokens.ts';

/**
 * The base URLs, without a trailing slash. Read at each use, because a port may be known only after
 * listening.
 */
export interface Origins extends UrlBases {
  /** `apiUrl` without the version, as a module worker's environment has it. */
  readonly apiEndpoint: string;
}

export interface TargetBuilderDeps {
  readonly mint: RuntimeTokenMint;
  readonly origins: Origins;
  /** The deployment's limits; an integration may have lower ones. */
  readonly limits: Limits;
  /** The schedule and the scheme of webhooks for which neither manifest nor settings choose one. */
  readonly webhookRetries: RetrySchedule;
  readonly webhookSignature: SignatureScheme;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

/** The members of a target that depend on its level. */
type OwnMembers = Pick<
  Target,
  'tenant' | 'installationId' | 'level' | 'place' | 'endpointKey' | 'organization' | 'status' | 'revision'
> &
  Pick<
    Target,
    'pausedAt' | 'webhook' | 'webhookRetries' | 'webhookSignature' | 'webhookRate' | 'signingSecrets'
  >;

export class TargetBuilder {
  readonly #deps: TargetBuilderDeps;

  constructor(deps: TargetBuilderDeps) {
    this.#deps = deps;
  }

  /** @param state a deleted target gets no installation token, which would name it */
  build(record: EndpointRecord, state: 'existing' | 'deleted'): Target {
    const { limits: deployment, origins } = this.#deps;
    const { installed, handles } = record;
    const { number, manifest } = record.version;
    const own =
      installed === undefined ? integrationMembers(record) : installedMembers(record, installed, this.#deps);
    const urls = endpointUrls(origins, own.endpointKey);
    const limits = limitsUnder(deployment, record.loweredLimits);
    const lowered = isolateLimits(deployment, limits);
    const live = this.#live(record, limits, state);
    return {
      ...own,
      ...urls,
      envelopeUrl: envelopeUrl(urls.publicEndpoint),
      integration: manifest.name,
      since: record.since,
      version: number,
      limits,
      ...(lowered && { isolateLimits: lowered }),
      isolate: isolateKey(own.tenant, manifest.name, number, lowered),
      ...(state === 'deleted' && own.level === 'organization' && { isRemoved: true }),
      get environment() {
        return live.current.environment;
      },
      get environmentJson() {
        return live.current.json;
      },
      ...policyOf(manifest),
      ...(manifest.egress && { egress: new EgressHosts(manifest.egress) }),
      ...(handles && { handles: new Set(handles) }),
      ...handlerRetries(manifest, handles !== undefined),
      ...schedulesOf(manifest, own.level),
      ...(manifest.calls && { calls: manifest.calls }),
      ...(manifest.assets && { assets: manifest.assets }),
    };
  }

  #live(record: EndpointRecord, limits: Limits, state: 'existing' | 'deleted'): LiveEnvironment {
    const { mint, wallNow } = this.#deps;
    const { installed, version, since } = record;
    const subject = {
      integration: version.manifest.name,
      since,
      version: version.number,
      scopes: version.manifest.scopes,
      ...(installed && state === 'existing' && { target: nameOf(installed.own) }),
    };
    return new LiveEnvironment({
      environment: this.#environment(record),
      limits,
      wallNow,
      mint: (expiresAt) => mint.tokens(subject, expiresAt),
    });
  }

  #environment(record: EndpointRecord): Omit<Environment, 'apiTokens'> {
    const { installed, integrationKey, version, secrets } = record;
    const { origins } = this.#deps;
    const { name, icon, organization, previewImages } = version.manifest;
    return buildEnvironment({
      apiEndpoint: origins.apiEndpoint,
      manifest: version.manifest,
      version: version.number,
      secrets,
      signingSecrets: signingSecretsOf(record),
      urls: integrationUrls(origins, {
        name,
        endpointKey: integrationKey,
        ...(icon !== undefined && { icon }),
      }),
      owner: ownerOf(origins, organization),
      previewImages: previewImages.map((path) => imageUrl(origins, integrationKey, path)),
      ...(installed && {
        installation: {
          ...{ ...installed.installation, ...this.#withUrls(installed.installation) },
          spaces: installed.spaces,
        },
        ...(installed.own.level !== 'organization' && { below: this.#withUrls(installed.own) }),
      }),
    });
  }

  #withUrls(target: Installation): TargetDeps {
    const { status, configuration, externalIds } = target;
    const urls = targetUrls(this.#deps.origins, target);
    return { ...nameOf(target), status, configuration, externalIds, urls };
  }
}

/**
 * Code of the SDK is retried by default. Bundles with a runtime of their own are called once for
 * each event, which their authors expect, unless the manifest says otherwise.
 */
function handlerRetries({ retries }: PublishedManifest, isSdk: boolean): Pick<Target, 'handlerRetries'> {
  const written = retries ?? (isSdk ? 'contract' : 'none');
  const schedule = retrySchedule(written);
  return schedule === undefined ? {} : { handlerRetries: schedule };
}

const nameOf = ({ installationId, level, place }: TargetName): TargetName => ({
  installationId,
  level,
  place,
});

/** The integration's own endpoint: it belongs to the owner, has no state, and ends with it. */
function integrationMembers({ version, integrationKey, signingSecret }: EndpointRecord): OwnMembers {
  return {
    tenant: integrationTenant(integrationKey),
    ...{ installationId: '', level: 'integration', place: '' },
    endpointKey: integrationKey,
    organization: version.manifest.organization,
    status: 'active',
    revision: `0@${version.number}`,
    signingSecrets: [signingSecret],
  };
}

function installedMembers(
  { version }: EndpointRecord,
  installed: InstalledRecord,
  byDefault: Pick<TargetBuilderDeps, 'webhookRetries' | 'webhookSignature'>,
): OwnMembers {
  const { own, installation, signingSecrets } = installed;
  const { manifest, number } = version;
  const webhook = webhookAt(manifest, own.level);
  const pausedAt = Math.max(own.pausedAt ?? 0, installation.pausedAt ?? 0);
  return {
    tenant: own.installationId,
    ...nameOf(own),
    endpointKey: own.endpointKey,
    organization: own.organization,
    status: installation.status === 'paused' ? 'paused' : own.status,
    revision: `${own.revision}@${number}`,
    ...(pausedAt > 0 && { pausedAt }),
    ...(webhook && {
      webhook,
      webhookRetries: byDefault.webhookRetries,
      webhookSignature: byDefault.webhookSignature,
      ...webhookChoices(webhook, own.configuration),
    }),
    signingSecrets: [signingSecrets.own],
  };
}

function signingSecretsOf({ installed, signingSecret: integration }: EndpointRecord): SigningSecrets {
  if (installed === undefined) return { integration };
  const { own, signingSecrets } = installed;
  return {
    integration,
    installation: signingSecrets.installation,
    ...(own.level === 'space' && { spaceInstallation: signingSecrets.own }),
    ...(own.level === 'site' && { siteInstallation: signingSecrets.own }),
  };
}

/** Those of its level; spaces and sites have none. */
function schedulesOf(manifest: PublishedManifest, level: Target['level']): Pick<Target, 'schedules'> {
  if (level === 'space' || level === 'site') return {};
  const schedules = schedulesAt(manifest, level === 'integration' ? level : 'installation');
  return schedules.length === 0 ? {} : { schedules };
}

function policyOf({
  contentSecurityPolicy: policy,
}: PublishedManifest): Pick<Target, 'contentSecurityPolicy'> {
  const header = policy === undefined ? '' : policyHeader(policy);
  return header === '' ? {} : { contentSecurityPolicy: header };
}

const MS_PER_S = 1_000;
/** How long the same tokens are given to new calls. */
const SHARED_MS = 30_000;
/** For the time between reading the environment and the start of the call's wall time. */
const MARGIN_MS = 5_000;

interface LiveEnvironmentDeps {
  readonly environment: Omit<Environment, 'apiTokens'>;
  readonly limits: Pick<Limits, 'firstByteMs' | 'callWallMs'>;
  readonly wallNow: () => number;
  /** @param expiresAt unix seconds */
  mint(expiresAt: number): ApiTokens;
}

/**
 * The environment of a cached target: constant except for its runtime tokens, which are minted
 * anew.
 *
 * A token outlives each call that gets it, and expires soon after. Tokens for each call would cost
 * two signatures and a copy of the environment at every request. So calls within half a minute
 * share tokens, and none are minted while there are no calls.
 */
export class LiveEnvironment {
  readonly #deps: LiveEnvironmentDeps;
  /**
   * Life of a token: the last call that gets it may wait for a slot, and then run for its whole
   * wall time.
   */
  readonly #lifeMs: number;
  #sharedUntil = Number.NEGATIVE_INFINITY;
  #current: { readonly environment: Environment; readonly json: Uint8Array } | undefined;

  constructor(deps: LiveEnvironmentDeps) {
    this.#deps = deps;
    this.#lifeMs = SHARED_MS + deps.limits.firstByteMs + deps.limits.callWallMs + MARGIN_MS;
  }

  /** The environment with tokens valid for a call that starts now, as an object and as JSON. */
  get current(): { readonly environment: Environment; readonly json: Uint8Array } {
    const now = this.#deps.wallNow();
    if (this.#current !== undefined && now < this.#sharedUntil) return this.#current;
    const apiTokens = this.#deps.mint(Math.ceil((now + this.#lifeMs) / MS_PER_S));
    const environment = { apiTokens, ...this.#deps.environment };
    this.#sharedUntil = now + SHARED_MS;
    this.#current = { environment, json: Buffer.from(JSON.stringify(environment), 'utf8') };
    return this.#current;
  }
}
