/**
 * Settings of one service: from flags, else from environment variables, else defaults. All mistakes
 * are reported together, each with the name of its setting, before the service starts.
 *
 * The flag `--public-port` has the variable `ANNEX_PUBLIC_PORT`; the limit `callCpuMs` has
 * `ANNEX_LIMIT_CALL_CPU_MS`.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS, LIMIT_NAMES, LIMITS, type LimitName, type Limits } from '../limits.ts';
import { AddressList } from '../model/address-list.ts';
import { ENDPOINT_PLACEHOLDER, hasOwnOrigins } from '../model/endpoint-url.ts';
import { type EventTypeFile, readEventTypeFile } from '../model/event-type-file.ts';
import { INTEGRATION_NAME, ORGANIZATION_ID } from '../model/identifiers.ts';
import { type LevelNames, readLevelNames } from '../model/level-names.ts';
import { frameOrigins } from '../model/portal.ts';
import { ProductScopes } from '../model/product-scopes.ts';
import {
  delayIn,
  RETRY_SCHEDULES,
  type RetrySchedule,
  retrySchedule,
  SCHEDULE_WANTED,
} from '../model/retry-schedule.ts';
import { MARKETPLACES, type Marketplace } from '../model/review.ts';
import type { SettingInForce } from '../model/setting-in-force.ts';
import { SIGNATURE_SCHEMES, type SignatureScheme } from '../model/signature.ts';
import { nearest } from '../model/spelling-hint.ts';
import { CELL_SANDBOX } from './confinement/layers.ts';
import type { NoticeReceiver } from './delivery/notice-delivery.ts';
import type { ClientCertificate } from './egress/connector.ts';
import { EgressPolicy } from './egress/policy.ts';
import type { EgressProxy } from './egress/proxy.ts';
import {
  readEgressProxy,
  readHeaderPrefix,
  readNoticeReceiver,
  readWebhookCertificate,
} from './outbound-settings.ts';
import { readSettings, variable } from './read-settings.ts';
import { SETTINGS } from './settings.ts';
import { type KeySource, parseKeyRing } from './store/vault/vault-key.ts';
import type { DisablingRules } from './store/webhooks/webhook-health-rows.ts';

export interface Config {
  /** Every setting, for the operator to read. */
  readonly settings: readonly SettingInForce[];
  /** Folder of the vault key, of the first admin token, and of the SQLite file if there is one. */
  readonly dataFolder: string;
  /** URL of the PostgreSQL database, with its password; absent: a SQLite file in `dataFolder`. */
  readonly databaseUrl?: string;
  /** Most connections of one node to PostgreSQL. */
  readonly databaseConnections: number;
  /** Number of nodes on this machine that share the two ports; 1 on SQLite. */
  readonly workers: number;
  /** The key ring of the vault, or the file that holds it. */
  readonly vaultKeys: KeySource;
  /** Address that the control listener binds to; `publicHost` is that of the public listener. */
  readonly controlHost: string;
  readonly controlPort: number;
  readonly publicHost: string;
  readonly publicPort: number;
  /**
   * Base of endpoint URLs as clients see them, without a trailing slash; absent: the public
   * listener. With `{endpoint}` as the first label of its host, every endpoint has its own origin.
   */
  readonly publicUrl?: string;
  /** The same for the origin without cookies, with another host; absent: there is none. */
  readonly contentUrl?: string;
  /**
   * Base of the API as integrations see it, without its version; absent: the control listener.
   */
  readonly apiUrl?: string;
  /** Origin of the redirect URLs of OAuth, or `on`: the public URL; absent: there are none. */
  readonly oauthCallback?: string;
  /** Base of the product's own API, without a trailing slash; absent: nothing is forwarded. */
  readonly productApi?: string;
  /** The scopes that calls of the product's API need; absent: the product decides. */
  readonly productScopes?: ProductScopes;
  /** The event types of the product; absent: the API declares them. */
  readonly eventTypes?: EventTypeFile['types'];
  /** Base of the host product's pages for people; absent: not known. */
  readonly appUrl?: string;
  /** Host names of the control listener, besides IP addresses, `localhost` and that of `apiUrl`. */
  readonly controlNames: readonly string[];
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: AddressList;
  /** Number of child processes of one node that run tenants' code. */
  readonly cells: number;
  /** Whether cells run in bubblewrap. */
  readonly cellSandbox: (typeof CELL_SANDBOX)[number];
  /** First of the user ids that cells run as, if the host is root. */
  readonly cellUser: number;
  /** Whether V8 only interprets in cells, without its compilers. */
  readonly cellJitless: boolean;
  /** The hosts, addresses and ports that integrations' `fetch` may connect to. */
  readonly egress: EgressPolicy;
  /** Proxy of all connections to them, with its password; absent: none. */
  readonly egressProxy?: EgressProxy;
  /** The product's words for spaces and sites. */
  readonly levelNames: LevelNames;
  /** Whether an integration reaches only hosts that its manifest lists. */
  readonly egressManifest: (typeof EGRESS_MANIFEST)[number];
  /** Whether webhooks may also be posted over plain http. */
  readonly webhookHttp: (typeof WEBHOOK_HTTP)[number];
  /** When webhooks are disabled because of their receivers. */
  readonly webhookRules: DisablingRules;
  /** What receivers of webhooks that ask for a certificate are shown; absent: none. */
  readonly webhookCertificate?: ClientCertificate;
  /** Beginning of the names of the headers of webhooks and notices. */
  readonly webhookHeaderPrefix: string;
  /** The schedule of webhooks for which neither manifest nor settings choose one. */
  readonly webhookRetries: RetrySchedule;
  /** Receiver of notices to the product; absent: they are listed only. */
  readonly noticeReceiver?: NoticeReceiver;
  /** The scheme by which those webhooks are signed. */
  readonly webhookSignature: SignatureScheme;
  /** Organizations, and integrations of them, that may have scopes reserved for internal use. */
  readonly internalOrganizations: readonly string[];
  /** Whether to start despite a damaged write-ahead log, without the commits in it. */
  readonly acceptLoss?: boolean;
  /** Whether the built-in integrations are published at the start. */
  readonly builtIns: (typeof BUILT_INS)[number];
  /** Whether versions of public integrations wait until the operator approves them. */
  readonly marketplace: Marketplace;
  readonly console: boolean;
  readonly portal: { readonly frames: readonly string[] } | undefined;
  readonly limits: Limits;
}

const EGRESS_MANIFEST = ['optional', 'required'] as const;
const WEBHOOK_HTTP = ['refuse', 'allow'] as const;

/** Mistakes in the settings, one sentence each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

const CELLS_MAX = 64;
/** With fewer, a few long statements would keep requests and deliveries waiting. */
const DATABASE_CONNECTIONS_MIN = 4;
const DATABASE_CONNECTIONS_MAX = 1_000;
const WORKERS_MAX = 64;
/** The ids of one node end below 61184, where systemd begins to give ids to services. */
const CELL_USER = 60_600;
/** Those of several nodes do not fit there. These begin behind the last id of systemd. */
const WORKERS_CELL_USER = 65_600;
const BUILT_INS = ['publish', 'none'] as const;
const ON_OFF = ['off', 'on'] as const;
/** Leaves space for the user ids that follow the first. */
const USER_MAX = 2 ** 31;
const PORT_MAX = 65_535;

/** The value of a numeric setting; a mistake becomes a problem. */
type ReadInteger = (flag: string, min: number, max: number) => number;

/** @throws ConfigError */
export function readConfig(flags: readonly string[], env: NodeJS.ProcessEnv): Config {
  const problems: string[] = [];
  const { text, inForce } = readSettings(flags, env, problems);
  const integer: ReadInteger = (flag, min, max) => {
    const value = Number(text(flag));
    if (!Number.isInteger(value) || value < min || value > max || text(flag).trim() === '') {
      problems.push(`--${flag} must be a whole number from ${min} to ${max}; it is "${text(flag)}".`);
    }
    return value;
  };
  const publicUrl = readPublicUrl('public-url', text, problems);
  const contentUrl = readContentUrl(publicUrl, text, problems);
  // The version is a part of each route's path, which `apiEndpoint` does not contain.
  const apiUrl = readUrl('api-url', text, problems)?.replace(/\/v1$/, '');
  const appUrl = readUrl('app-url', text, problems);
  const oauthCallback = readOAuthCallback(publicUrl, text, problems);
  const eventTypes = readEventTypes(text, problems);
  const product = readProduct(text, problems, scopesIn(eventTypes));
  const egress = EgressPolicy.parse({
    allow: text('egress-allow'),
    deny: text('egress-deny'),
    only: text('egress-only'),
    ports: text('egress-ports'),
  });
  problems.push(...egress.problems);
  const egressManifest = EGRESS_MANIFEST.find((word) => word === text('egress-manifest'));
  if (egressManifest === undefined)
    problems.push(`--egress-manifest must be optional or required; it is "${text('egress-manifest')}".`);
  const internalOrganizations = words(text('internal-organizations'));
  for (const entry of internalOrganizations.filter((each) => !isTrusted(each)))
    problems.push(
      `--internal-organizations: "${entry}" is neither an organization, as acme, nor an integration of one, as acme/analytics.`,
    );
  const trustedProxies = AddressList.parse(text('trusted-proxies'));
  for (const entry of trustedProxies.mistakes)
    problems.push(`--trusted-proxies: "${entry}" is neither an address nor a range, as 10.0.0.0/8.`);
  const config: Config = {
    ...{ settings: inForce(), dataFolder: text('data') },
    vaultKeys: readVaultKeys(text, problems),
    ...{ controlHost: text('control-host'), publicHost: text('public-host') },
    controlPort: integer('control-port', 0, PORT_MAX),
    publicPort: integer('public-port', 0, PORT_MAX),
    ...(publicUrl && { publicUrl }),
    ...(contentUrl && { contentUrl }),
    ...(apiUrl && { apiUrl }),
    ...(appUrl && { appUrl }),
    ...(oauthCallback && { oauthCallback }),
    ...product,
    ...(eventTypes && { eventTypes }),
    ...{ controlNames: names(text('control-names')), levelNames: readNames(text, problems) },
    trustedProxies: trustedProxies.list,
    ...readNodes(text, integer, problems),
    cellSandbox: oneOf('cell-sandbox', CELL_SANDBOX, problems, text),
    cellJitless: oneOf('cell-jitless', ON_OFF, problems, text) === 'on',
    egress: egress.policy,
    ...readEgressProxy(flags, text, problems),
    egressManifest: egressManifest ?? 'required',
    webhookHttp: oneOf('webhook-http', WEBHOOK_HTTP, problems, text),
    webhookRules: {
      afterMs: readDuration('webhook-disable-after', text, problems),
      onGone: oneOf('webhook-disable-on-gone', ON_OFF, problems, text) === 'on',
    },
    webhookRetries: readSchedule('webhook-retries', text, problems),
    ...readWebhookCertificate(text, problems),
    webhookHeaderPrefix: readHeaderPrefix(text, problems),
    ...readNoticeReceiver(text, problems),
    webhookSignature: oneOf('webhook-signature', SIGNATURE_SCHEMES, problems, text),
    ...{ internalOrganizations, acceptLoss: text('accept-loss') === 'true' },
    builtIns: oneOf('built-ins', BUILT_INS, problems, text),
    marketplace: oneOf('marketplace', MARKETPLACES, problems, text),
    ...{ console: oneOf('console', ON_OFF, problems, text) === 'on', portal: readPortal(text, problems) },
    limits: readLimits(env, problems),
  };
  problems.push(...unknownVariables(env));
  if (config.dataFolder === '') problems.push('--data must name a folder.');
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function readNames(text: (flag: string) => string, problems: string[]): LevelNames {
  const given = text('level-names');
  const names = given === '' ? {} : readLevelNames(given);
  if (names === undefined)
    problems.push(
      `--level-names must be as space=Project,site=Shop: two different names of letters, digits, blanks and hyphens, at most 40 characters each; it is ${JSON.stringify(given.slice(0, 200))}.`,
    );
  return names ?? {};
}

function readPortal(text: (flag: string) => string, problems: string[]): Config['portal'] {
  const frames = frameOrigins(names(text('portal-frames')), problems);
  return oneOf('portal', ON_OFF, problems, text) === 'on' ? { frames } : undefined;
}

/** The database, and the nodes of this machine that share it. */
function readNodes(
  text: (flag: string) => string,
  integer: ReadInteger,
  problems: string[],
): Pick<Config, 'databaseUrl' | 'databaseConnections' | 'workers' | 'cells' | 'cellUser'> {
  const databaseUrl = text('database-url').trim();
  const fault = databaseUrl === '' ? undefined : databaseUrlFault(databaseUrl);
  // The sentence has no part of the URL, because a mistyped password may be anywhere in it.
  if (fault !== undefined)
    problems.push(`ANNEX_DATABASE_URL must be like postgres://user:password@host:5432/name: ${fault}.`);
  const workers = integer('workers', 1, WORKERS_MAX);
  if (workers > 1 && databaseUrl === '')
    problems.push('--workers must be 1 on SQLite, which has one node: set ANNEX_DATABASE_URL to have more.');
  if (text('accept-loss') === 'true' && databaseUrl !== '')
    problems.push('--accept-loss is about the log of the SQLite file, and ANNEX_DATABASE_URL is set.');
  const firstUser = workers > 1 ? WORKERS_CELL_USER : CELL_USER;
  const cores = Math.min(8, Math.max(2, availableParallelism()));
  return {
    ...(databaseUrl !== '' && { databaseUrl }),
    databaseConnections: integer('database-connections', DATABASE_CONNECTIONS_MIN, DATABASE_CONNECTIONS_MAX),
    workers,
    // All workers together have about as many cells as one node has alone, because they share its
    // cores. A worker with one cell starts the next one when it dies, and the others serve on.
    cells: text('cells') === '' ? Math.ceil(cores / workers) : integer('cells', 1, CELLS_MAX),
    cellUser: text('cell-user') === '' ? firstUser : integer('cell-user', 1, USER_MAX),
  };
}

/** What is wrong with a URL of PostgreSQL, without any part of it. @returns undefined if nothing */
function databaseUrlFault(text: string): string | undefined {
  if (!/^postgres(ql)?:/i.test(text)) return 'it does not begin with postgres:// or postgresql://';
  const url = URL.parse(text);
  const encoding = 'in a user name or a password, the characters : / ? # [ ] @ % must be percent-encoded';
  if (url === null || url.hash !== '') return `it cannot be read; ${encoding}`;
  try {
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
  } catch {
    return `it has a % that begins no character; ${encoding}`;
  }
  if (!/^\/[^/]+$/.test(url.pathname)) return 'it names no database behind the host';
  return undefined;
}

/** The key ring from its variable, else the file that holds it. */
function readVaultKeys(text: (flag: string) => string, problems: string[]): KeySource {
  const file = text('vault-key-file') || join(text('data'), 'vault.key');
  if (text('vault-keys').trim() === '') return { file };
  if (text('vault-key-file') !== '') {
    problems.push('ANNEX_VAULT_KEYS and --vault-key-file both say where the keys are; leave one out.');
  }
  const parsed = parseKeyRing(text('vault-keys'));
  if (parsed.ok) return { ring: parsed.ring };
  problems.push(
    `ANNEX_VAULT_KEYS must be keys of 32 bytes in base64url, separated by commas: ${parsed.problem}.`,
  );
  return { file };
}

/** The file of event types. Each problem has its line. */
function readEventTypes(text: (flag: string) => string, problems: string[]): Config['eventTypes'] {
  const file = text('event-types');
  if (file === '') return undefined;
  try {
    const { types, problems: faults } = readEventTypeFile(readFileSync(file, 'utf8'));
    problems.push(
      ...faults.map(({ line, column, message }) => `--event-types: ${file}:${line}:${column}: ${message}`),
    );
    return types;
  } catch (cause) {
    problems.push(`--event-types: ${(cause as Error).message}.`);
    return undefined;
  }
}

const scopesIn = (types: Config['eventTypes'] = new Map()): readonly string[] =>
  [...types.values()].flatMap(({ declaration: { scope } }) => scope?.name ?? []);

/** The product's API, and the file of the scopes that its calls need. */
function readProduct(
  text: (flag: string) => string,
  problems: string[],
  declaredScopes: readonly string[],
): Pick<Config, 'productApi' | 'productScopes'> {
  const productApi = readUrl('product-api', text, problems);
  const file = text('product-scopes');
  if (productApi?.includes('@')) problems.push('--product-api must not have a user name or a password.');
  if (file === '') return { ...(productApi && { productApi }) };
  if (productApi === undefined) problems.push('--product-scopes needs --product-api.');
  try {
    const { scopes, problems: faults } = ProductScopes.parse(readFileSync(file, 'utf8'), declaredScopes);
    problems.push(...faults.map((fault) => `--product-scopes: ${fault}`));
    return { ...(productApi && { productApi }), ...(scopes && { productScopes: scopes }) };
  } catch (cause) {
    problems.push(`--product-scopes: ${(cause as Error).message}.`);
    return {};
  }
}

/** The value of a setting that has a fixed set of words. */
function oneOf<Word extends string>(
  flag: string,
  words: readonly [Word, ...Word[]],
  problems: string[],
  text: (flag: string) => string,
): Word {
  const word = words.find((candidate) => candidate === text(flag));
  if (word === undefined) problems.push(`--${flag} must be ${listed(words)}; it is "${text(flag)}".`);
  return word ?? words[0];
}

/** Longest time that a setting may name. */
const DURATION_MS_MAX = 365 * 86_400_000;

/** A time as 30m, 12h or 5d, in milliseconds. @returns undefined if it is not set */
function readDuration(flag: string, text: (flag: string) => string, problems: string[]): number | undefined {
  const written = text(flag);
  if (written === '') return undefined;
  const ms = delayIn(written);
  if (ms <= DURATION_MS_MAX && !written.endsWith('s')) return ms;
  problems.push(`--${flag} must be a time as 30m, 12h or 5d, of at most 365 days; it is "${written}".`);
  return undefined;
}

/** The schedule that a setting names, or lists the delays of. */
function readSchedule(flag: string, text: (flag: string) => string, problems: string[]): RetrySchedule {
  const written = text(flag);
  const schedule = retrySchedule(written) ?? retrySchedule(words(written));
  if (schedule === undefined) problems.push(`--${flag} must be ${SCHEDULE_WANTED}; it is "${written}".`);
  return schedule ?? RETRY_SCHEDULES.contract;
}

const listed = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

const names = (list: string): string[] => words(list.toLowerCase());

/** Whether an entry is an organization, or an integration behind its organization. */
function isTrusted(entry: string): boolean {
  const [organization = '', name, ...more] = entry.split('/');
  return (
    ORGANIZATION_ID.test(organization) &&
    (name === undefined || INTEGRATION_NAME.test(name)) &&
    more.length === 0
  );
}

const words = (list: string): string[] =>
  list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** The text of `--help`. */
export function configHelp(): string {
  const rows = SETTINGS.map(({ flag, value, help, isSecret, isSwitch }) => {
    const shown = value === '' ? '' : ` (${value})`;
    const [asFlag, asVariable] = [isSecret ? '' : `--${flag}`, isSwitch ? '' : variable(flag)];
    return `  ${asFlag.padEnd(16)} ${asVariable.padEnd(20)} ${help}${shown}`;
  });
  return [
    'usage: npm start -- [flags]',
    '',
    ...rows,
    '',
    'Each limit has a variable, for instance ANNEX_LIMIT_CALL_CPU_MS=1000; docs/limits.md lists them.',
  ].join('\n');
}

/** Name of the environment variable of a limit. */
export const limitVariable = (limit: string): string =>
  `ANNEX_LIMIT_${limit.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/**
 * Variables of the tests, of the command line as a client, and those that Kubernetes sets for
 * services named "annex…".
 */
const FOREIGN_VARIABLE =
  /^ANNEX_TEST_(BARE|KILLS|LOG|PLANTED|POSTGRES|RUN_FOLDER|SEED|STORES|TEMPLATE)$|^ANNEX_FUZZ_(AT|INPUTS|SEED)$|^ANNEX_(URL|TOKEN|PROFILE|PORT)$|_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;

/**
 * One sentence for each unknown variable: an ignored `ANNEX_EGRES_DENY` would leave open what the
 * operator means to close. The sentences contain no values: a mistyped variable may hold a secret.
 */
function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const known = new Set(SETTINGS.filter(({ isSwitch }) => !isSwitch).map(({ flag }) => variable(flag)));
  const isUnknown = (key: string) =>
    key.startsWith('ANNEX_') &&
    !key.startsWith('ANNEX_LIMIT_') &&
    !known.has(key) &&
    !FOREIGN_VARIABLE.test(key);
  return Object.keys(env)
    .filter(isUnknown)
    .map((key) => `${key} is not the name of a setting${meant(key, known)}. \`--help\` lists them.`);
}

/** The suggestion in a sentence about an unknown name; empty if no name is similar. */
function meant(key: string, known: Iterable<string>): string {
  const near = nearest(key, known);
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

function readLimits(env: NodeJS.ProcessEnv, problems: string[]): Limits {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  const names = new Map(LIMIT_NAMES.map((name) => [limitVariable(name), name]));
  for (const [key, value] of Object.entries(env)) {
    if (!key.startsWith('ANNEX_LIMIT_') || value === undefined) continue;
    const name = names.get(key);
    const number = Number(value);
    if (name === undefined) {
      const rest = 'docs/limits.md lists them.';
      problems.push(`${key} is not the name of a limit${meant(key, names.keys())}; ${rest}`);
      continue;
    }
    const min = LIMITS[name as LimitName].least ?? 1;
    const least = min === 1 ? 'above 0' : `of at least ${min}`;
    if (Number.isSafeInteger(number) && number >= min) limits[name] = number;
    else problems.push(`${key} must be a whole number ${least}; it is "${value}".`);
  }
  return limits as unknown as Limits;
}

/** The text of a setting; empty if it is not set. */
type ReadSetting = (flag: string) => string;

/**
 * Base URLs in the settings: what each may look like, and how they must agree. Mistakes become one
 * sentence each, with the name of the setting.
 *
 * An http or https URL, without a slash at its end. @returns undefined if it is not set
 */
function readUrl(flag: string, text: ReadSetting, problems: string[]): string | undefined {
  const value = text(flag).replace(/(?<!\/)\/+$/, '');
  if (value === '') return undefined;
  if (!URL.canParse(value) || !/^https?:/.test(value) || /[?#]/.test(value)) {
    problems.push(`--${flag} must be an http or https URL without query and fragment; it is "${value}".`);
  }
  return value;
}

/** Like any base URL, but the first label of its host may be `{endpoint}`. */
function readPublicUrl(flag: string, text: ReadSetting, problems: string[]): string | undefined {
  const value = text(flag).replace(/(?<!\/)\/+$/, '');
  if (value === '') return undefined;
  const plain = value.replace(/^(https?:\/\/)\{endpoint\}\./i, '$1endpoint.');
  // The listener compares the path of an own origin with paths as they are sent.
  const isExact = plain === value || OWN_ORIGIN_URL.test(plain);
  if (!URL.canParse(plain) || !/^https?:/.test(plain) || /[?#{}@]/.test(plain) || !isExact) {
    problems.push(
      `--${flag} must be an http or https URL without query and fragment, or one like https://{endpoint}.apps.example.com or https://{endpoint}.apps.example.com/i; it is "${value}".`,
    );
  }
  return value;
}

/** A path, if any, of segments that no URL parser changes. */
const OWN_ORIGIN_URL = /^https?:\/\/[^/]+(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$/;

/**
 * Integrations route by the path of an endpoint, which is that of its public endpoint: so the
 * content URL differs from the public URL in its host only. A host of its own, because cookies of a
 * host apply to all of its ports.
 */
function readContentUrl(
  publicUrl: string | undefined,
  text: ReadSetting,
  problems: string[],
): string | undefined {
  const value = readPublicUrl('content-url', text, problems);
  if (value === undefined) return undefined;
  const [content, open] = [value, publicUrl ?? ''].map((url) =>
    URL.parse(url.replace(ENDPOINT_PLACEHOLDER, 'endpoint')),
  );
  const isLike =
    content?.pathname === open?.pathname && hasOwnOrigins(value) === hasOwnOrigins(publicUrl ?? '');
  if (!open || !content || !isLike || content.hostname === open.hostname)
    problems.push(
      `--content-url must be --public-url with another host name, and needs --public-url; it is "${value}".`,
    );
  return value;
}

/**
 * The origin of the redirect URLs of OAuth, or `on`. It has no path, because a provider's answer
 * has to come to this service under exactly the URL that was registered.
 *
 * @returns undefined if it is off
 */
function readOAuthCallback(
  publicUrl: string | undefined,
  text: ReadSetting,
  problems: string[],
): string | undefined {
  const value = text('oauth-callback').replace(/(?<!\/)\/+$/, '');
  if (value === '' || value === 'off') return undefined;
  if (value === 'on') {
    if (publicUrl !== undefined && hasOwnOrigins(publicUrl))
      problems.push(
        '--oauth-callback must be an origin, as https://apps.example.com, where --public-url gives each endpoint an origin of its own.',
      );
    return value;
  }
  const url = URL.parse(value);
  if (url === null || url.origin !== value.toLowerCase() || !/^https?:/.test(value))
    problems.push(
      `--oauth-callback must be off, on, or an origin as https://apps.example.com; it is "${value}".`,
    );
  return value;
}
