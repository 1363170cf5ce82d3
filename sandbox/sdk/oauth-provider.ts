/**
 * An OAuth provider as an integration describes it, and requests to its token endpoint
 * (docs/contract/oauth.md#callback).
 *
 * Failures are `OAuthFailure`s whose message may be logged: it has at most one word of the
 * provider, and never a code, a token or a secret. Nothing is stored here.
 */
import type { Environment, Installation } from './environment.ts';
import type { AccountConfiguration, Configuration, OAuthCredentials } from './manifest-types.ts';
import { readQuery } from './url.ts';

type Awaitable<T> = T | Promise<T>;

/**
 * A text, or a function that returns it for one installation. Undefined or empty ends the flow with
 * 502 (docs/contract/oauth.md#parameters).
 */
export type OAuthSetting<C extends Configuration = AccountConfiguration> =
  | string
  | ((installation: Installation<C>, environment: Environment<C>) => Awaitable<string | undefined>);

/**
 * Result of `extractCredentials` (docs/contract/oauth.md#extractcredentials). Members may be copied
 * from the answer unchecked; their types are checked before they are stored.
 */
export interface ExtractedCredentials {
  /** Properties to set in the target's configuration, `oauth_credentials` among them. */
  readonly configuration: {
    readonly oauth_credentials: { readonly access_token?: unknown; readonly [member: string]: unknown };
    readonly [property: string]: unknown;
  };
  /**
   * External ids of the target, such as the provider's team id: at most 5. They replace the old.
   */
  readonly externalIds?: readonly unknown[];
}

/**
 * Members of a token endpoint's answer, JSON or a form. If the answer itself has no `ok` or
 * `status`, they are those of the HTTP answer, and not enumerable.
 */
export interface OAuthTokenResponse {
  /** Whether the request succeeded. */
  readonly ok: boolean;
  /** HTTP status. */
  readonly status: number;
  /** Members of the answer, such as `access_token`; texts where it is a form. */
  readonly [member: string]: unknown;
}

/** Further parameters by name. One whose value is undefined or empty is left out. */
export type OAuthParameters<C extends Configuration = AccountConfiguration> = Readonly<
  Record<string, OAuthSetting<C>>
>;

/** What the client of every grant has. */
export interface OAuthClient<C extends Configuration = AccountConfiguration> {
  /** Client id at the provider. */
  readonly clientId: OAuthSetting<C>;
  /** Client secret at the provider. */
  readonly clientSecret: OAuthSetting<C>;
  /**
   * Where the token endpoint takes the client's id and secret: in the form, or as Basic
   * authentication. By default they are in the form, and a provider that refuses them there is
   * asked once more with Basic.
   */
  readonly clientAuthentication?: 'body' | 'basic';
  /** The provider's token endpoint. */
  readonly accessTokenURL: OAuthSetting<C>;
  /** Further parameters of each request to the token endpoint, such as `audience`. */
  readonly tokenParameters?: OAuthParameters<C>;
  /** Scopes to request. */
  readonly scopes?: readonly string[];
  /** What stands between scopes; a space by default, as in RFC 6749. Some providers take `,`. */
  readonly scopeSeparator?: string;
  /**
   * Makes credentials of the provider's answer, also of the answer to a renewal. The default keeps
   * `access_token`, `refresh_token`, and `expires_at`, made from `expires_in` where that is set.
   *
   * It may throw, for example if `ok` is false. Then, and whenever the HTTP answer was a refusal,
   * nothing is changed.
   */
  extractCredentials?(response: OAuthTokenResponse): Awaitable<ExtractedCredentials>;
}

/**
 * The parameter of `createOAuthHandler` and of `getOAuthToken` for the account of a person
 * (docs/contract/oauth.md#parameters).
 *
 * @typeParam C configuration at the level of the account
 */
export interface OAuthConfig<C extends Configuration = AccountConfiguration> extends OAuthClient<C> {
  /** A person consents; the default. */
  readonly grant?: 'authorization_code';
  /** URL to which the browser is sent; its own query is kept. */
  readonly authorizeURL: OAuthSetting<C>;
  /** Further parameters of the authorization request, such as `access_type`. */
  readonly authorizeParameters?: OAuthParameters<C>;
  /** Token endpoint of renewals, for a provider that has another one for them. */
  readonly refreshTokenURL?: OAuthSetting<C>;
  /**
   * Redirect URL that the provider knows, for a provider that allows only one; by default the URL
   * of the request without its query. The page there must send the browser on to the handler of
   * the same target, with the same query.
   */
  readonly redirectURL?: OAuthSetting<C>;
  /** Parameter `prompt` of the authorization request, such as `consent`. */
  readonly prompt?: string;
  /**
   * `form_post` has the provider answer with a `POST` of a form, as Apple does for scopes. The
   * handler has to get the `POST`s of its path, too.
   */
  readonly responseMode?: 'form_post';
}

/**
 * The parameter of `createOAuthHandler` and of `getOAuthToken` for the account of the client
 * itself, without a person's consent (docs/contract/oauth.md#client-credentials).
 */
export interface OAuthClientCredentials<C extends Configuration = AccountConfiguration>
  extends OAuthClient<C> {
  /** The client asks for itself. */
  readonly grant: 'client_credentials';
}

export type AnyOAuthConfig<C extends Configuration> = OAuthConfig<C> | OAuthClientCredentials<C>;

/** Names of the members of `OAuthClient`, and of `OAuthConfig` alone. */
const CLIENT_KEYS = [
  ...['grant', 'clientId', 'clientSecret', 'clientAuthentication', 'accessTokenURL', 'tokenParameters'],
  ...['scopes', 'scopeSeparator', 'extractCredentials'],
];
const PERSON_KEYS = [
  ...['authorizeURL', 'authorizeParameters', 'refreshTokenURL', 'redirectURL', 'prompt', 'responseMode'],
];

/** The words that a member may have. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  grant: ['authorization_code', 'client_credentials'],
  clientAuthentication: ['body', 'basic'],
  responseMode: ['form_post'],
};

/** Parameters that are the handler's own: with another value, the checks of the flow would fail. */
const OWN_PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  authorizeParameters: [
    ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'prompt', 'state'],
    ...['code_challenge', 'code_challenge_method'],
  ],
  tokenParameters: [
    ...['client_id', 'client_secret', 'grant_type', 'code', 'redirect_uri', 'code_verifier'],
    'refresh_token',
  ],
};

/**
 * Checks what an author has written. Without it, a misspelt name would be ignored.
 *
 * @throws TypeError
 */
export function checkConfig<C extends Configuration>(config: AnyOAuthConfig<C>): void {
  const isClients = config.grant === 'client_credentials';
  const keys = isClients ? CLIENT_KEYS : [...CLIENT_KEYS, ...PERSON_KEYS];
  const wrong = (what: string) => new TypeError(`createOAuthHandler: ${what}`);
  for (const [key, value] of Object.entries(config)) {
    if (!keys.includes(key)) throw wrong(`"${key}" is not one of ${keys.join(', ')}`);
    const words = WORDS[key];
    if (words && value !== undefined && !words.includes(value))
      throw wrong(`${key} must be ${words.map((word) => `"${word}"`).join(' or ')}`);
    if (key === 'scopeSeparator' && value !== undefined && !isText(value))
      throw wrong('scopeSeparator must be a text');
    for (const [name, setting] of Object.entries((OWN_PARAMETERS[key] && value) || {})) {
      if (OWN_PARAMETERS[key]?.includes(name)) throw wrong(`${key} cannot set "${name}"`);
      if (typeof setting !== 'string' && typeof setting !== 'function')
        throw wrong(`${key}.${name} must be a text or a function`);
    }
  }
  const required = ['clientId', 'clientSecret', ...(isClients ? [] : ['authorizeURL']), 'accessTokenURL'];
  for (const key of required) {
    const value = (config as unknown as Record<string, unknown>)[key];
    if (!isText(value) && typeof value !== 'function') throw wrong(`${key} must be a text or a function`);
  }
}

/** A failure of the flow; its message is for the log. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure';
  /** Whether the provider refused for good, so that the same request fails again. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal = false, cause }: { isFinal?: boolean; cause?: unknown } = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.isFinal = isFinal;
  }
}

/**
 * Value of a setting for the installation of this call.
 *
 * @throws OAuthFailure if it is not set, or a URL that is not allowed
 */
export async function settingOf<C extends Configuration>(
  config: AnyOAuthConfig<C>,
  name: 'clientId' | 'clientSecret' | 'authorizeURL' | 'accessTokenURL' | 'refreshTokenURL' | 'redirectURL',
  installation: Installation<C>,
  environment: Environment<C>,
): Promise<string> {
  const setting = (config as Partial<OAuthConfig<C>>)[name];
  const value = typeof setting === 'function' ? await setting(installation, environment) : setting;
  if (typeof value !== 'string' || value === '') throw new OAuthFailure(`${name} is not set`);
  // Attack: an organization types in a URL that sends browsers or secrets elsewhere than to a web
  // server.
  if (name.endsWith('URL') && !isWebURL(value))
    throw new OAuthFailure(`${name} is not an allowed http or https URL`);
  return value;
}

/**
 * Values of further parameters for the installation of this call.
 *
 * @throws OAuthFailure if one is no text
 */
export async function parametersOf<C extends Configuration>(
  parameters: OAuthParameters<C> = {},
  installation: Installation<C>,
  environment: Environment<C>,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [name, setting] of Object.entries(parameters)) {
    const value = typeof setting === 'function' ? await setting(installation, environment) : setting;
    if (value === undefined || value === '') continue;
    if (typeof value !== 'string') throw new OAuthFailure(`the parameter ${name} is not a text`);
    values[name] = value;
  }
  return values;
}

/** The member `scope` of a request; empty where there are none. */
export const scopeOf = <C extends Configuration>({
  scopes = [],
  scopeSeparator = ' ',
}: AnyOAuthConfig<C>): { readonly scope?: string } =>
  scopes.length > 0 ? { scope: scopes.join(scopeSeparator) } : {};

/** The request for a token of the client itself (RFC 6749, section 4.4.2). */
export const clientGrant = <C extends Configuration>(config: OAuthClientCredentials<C>) => ({
  grant_type: 'client_credentials',
  ...scopeOf(config),
});

function isWebURL(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '' && hash === '';
}

/** Answer of the token endpoint. */
export interface TokenAnswer {
  readonly response: OAuthTokenResponse;
  /** Set if the HTTP status is not a success, or the answer has an error in place of a token. */
  readonly refusal: OAuthFailure | undefined;
}

/** Configurations whose provider has accepted Basic: a later request begins with it. */
const takeBasic = new WeakSet<object>();

/**
 * Sends a request to the token endpoint (RFC 6749, sections 4.1.3 and 6), with the client secret in
 * the form. A provider that refuses the client is asked once more, with Basic (section 2.3.1): it
 * has used up neither the code nor the refresh token. With `clientAuthentication` there is one way.
 *
 * @throws OAuthFailure if it cannot be reached, or its answer is neither a JSON object nor a form
 */
export async function requestTokens<C extends Configuration>(
  config: AnyOAuthConfig<C>,
  environment: Environment<C>,
  installation: Installation<C>,
  grant: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const setting = (name: 'clientId' | 'clientSecret' | 'accessTokenURL' | 'refreshTokenURL') =>
    settingOf(config, name, installation, environment);
  const hasOwnURL = 'refreshTokenURL' in config && config.refreshTokenURL !== undefined;
  const isRenewal = grant['grant_type'] === 'refresh_token' && hasOwnURL;
  const url = await setting(isRenewal ? 'refreshTokenURL' : 'accessTokenURL');
  const client = { id: await setting('clientId'), secret: await setting('clientSecret') };
  const asked = { ...(await parametersOf(config.tokenParameters, installation, environment)), ...grant };
  const { clientAuthentication: way } = config;
  const isBasic = way === undefined ? takeBasic.has(config) : way === 'basic';
  let answer = await post(url, isBasic ? withBasic(asked, client) : withForm(asked, client));
  if (way === undefined && refusesClient(answer)) {
    const other = await post(url, isBasic ? withForm(asked, client) : withBasic(asked, client));
    if (!refusesClient(other)) {
      answer = other;
      if (isBasic) takeBasic.delete(config);
      else takeBasic.add(config);
    }
  }
  const { ok, status, type, members } = answer;
  const refusal = refusalOf(answer);
  if (members !== undefined) return { response: withStatus(members, { ok, status }), refusal };
  const name = /^[\w.+-]{1,64}\/[\w.+-]{1,64}/.exec(type)?.[0] ?? 'of no type';
  throw (
    refusal ?? new OAuthFailure(`the token endpoint answered with neither a JSON object nor a form (${name})`)
  );
}

interface Client {
  readonly id: string;
  readonly secret: string;
}
type Grant = Readonly<Record<string, string>>;

const withForm = (grant: Grant, { id, secret }: Client): RequestInit => ({
  body: new URLSearchParams({ ...grant, client_id: id, client_secret: secret }).toString(),
});

/** Both texts are encoded as in a form, before base64. */
const withBasic = (grant: Grant, { id, secret }: Client): RequestInit => ({
  body: new URLSearchParams(grant).toString(),
  headers: {
    authorization: `Basic ${btoa([id, secret].map((text) => encodeURIComponent(text.toWellFormed())).join(':'))}`,
  },
});

/** Members that hold the error of an answer. Facebook has an object there, WeChat a number. */
const ERROR_MEMBERS = ['error', 'errcode', 'error_code'] as const;

const errorOf = (members: Members): unknown =>
  ERROR_MEMBERS.map((name) => members[name]).find((value) => value && value !== '0');

/** The first short word that names an error. HubSpot has it in `status`. */
function errorWordOf(members: Members = {}): string | undefined {
  const error = errorOf(members);
  const { code, type } = (error ?? {}) as Record<string, unknown>;
  return [error, code, type, members['status']].map(wordOf).find((word) => word !== undefined);
}

/** A 401 of any word: X says `unauthorized_client`, others say nothing. */
const refusesClient = ({ status, members, challenge }: Answer): boolean =>
  status === 401 ||
  errorWordOf(members) === 'invalid_client' ||
  (status === 400 && /^basic\b/i.test(challenge));

/** Errors of RFC 6749, section 5.2. */
const LASTING = new Set([
  ...['invalid_request', 'invalid_client', 'invalid_grant'],
  ...['unauthorized_client', 'unsupported_grant_type', 'invalid_scope'],
]);

/** Words of faults that pass. */
const PASSING = new Set([
  ...['server_error', 'temporarily_unavailable', 'slow_down', 'internal_error', 'service_unavailable'],
  ...['fatal_error', 'request_timeout', 'ratelimited', 'rate_limited'],
]);

/**
 * The refusal of an answer. A 4xx is for good whatever its word is, and so is an error with 200:
 * providers have many words for a refresh token that is over.
 */
function refusalOf({ ok, status, members }: Answer): OAuthFailure | undefined {
  const isError = members !== undefined && (errorOf(members) !== undefined || members['ok'] === false);
  if (ok && (!isError || isText(members['access_token']))) return undefined;
  const word = errorWordOf(members);
  const reason = word === undefined ? '' : ` (${word})`;
  const message = ok ? 'the token endpoint gave no access token' : `the token endpoint answered ${status}`;
  const isOfClient = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const isFinal = LASTING.has(word ?? '') || ((ok || isOfClient) && !PASSING.has(word ?? ''));
  return new OAuthFailure(`${message}${reason}`, { isFinal });
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/**
 * Adds `ok` and `status` where the answer has none of its own: some providers say `"ok": false`
 * with status 200.
 */
function withStatus(
  answer: Readonly<Record<string, unknown>>,
  http: { readonly ok: boolean; readonly status: number },
): OAuthTokenResponse {
  const response = { ...answer };
  for (const [name, value] of Object.entries(http))
    if (!Object.hasOwn(response, name)) Object.defineProperty(response, name, { value });
  return response as unknown as OAuthTokenResponse;
}

type Members = Readonly<Record<string, unknown>>;

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly type: string;
  /** `WWW-Authenticate`. */
  readonly challenge: string;
  readonly members: Members | undefined;
}

async function post(url: string, { body, headers }: RequestInit): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: body ?? null,
      // Attack: a redirect that takes the client secret and the code to another server.
      redirect: 'manual',
    });
    return {
      ok: response.ok,
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      challenge: response.headers.get('www-authenticate') ?? '',
      members: membersOf(await response.text()),
    };
  } catch (cause) {
    throw new OAuthFailure('the token endpoint cannot be reached', { cause });
  }
}

/** A text that is a form. Its type does not matter: forms come as `text/plain` and as JSON, too. */
const FORM = /^[\w.%-]+=[^\s<>{}"]*$/;

/** Members of an answer; undefined where it is neither a JSON object nor a form. */
function membersOf(text: string): Members | undefined {
  if (FORM.test(text.trim())) return readQuery(`?${text.trim()}`);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An error code of the provider, if it is short enough for a log. A longer text may quote secrets.
 */
export const wordOf = (value: unknown): string | undefined =>
  /^[\w.-]{1,64}$/.test(typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '')
    ? String(value)
    : undefined;

/** Checked credentials, as they are stored. */
export interface CheckedCredentials {
  readonly configuration: {
    readonly oauth_credentials: OAuthCredentials;
    readonly [property: string]: unknown;
  };
  readonly externalIds?: readonly string[];
}

/**
 * Credentials of a token endpoint's answer.
 *
 * @throws OAuthFailure if the endpoint refused, or if `extractCredentials` throws or returns
 *   something else
 */
export async function extracted<C extends Configuration>(
  { extractCredentials = usualCredentials }: AnyOAuthConfig<C>,
  { response, refusal }: TokenAnswer,
): Promise<CheckedCredentials> {
  if (refusal !== undefined && extractCredentials === usualCredentials) throw refusal;
  let credentials: unknown;
  try {
    credentials = await extractCredentials(response);
  } catch (cause) {
    if (refusal !== undefined) throw new OAuthFailure(refusal.message, { isFinal: refusal.isFinal, cause });
    if (cause instanceof OAuthFailure) throw cause;
    throw new OAuthFailure('extractCredentials failed', { cause });
  }
  if (refusal !== undefined) throw refusal;
  if (isComplete(credentials)) return credentials;
  throw new OAuthFailure('extractCredentials must return {configuration: {oauth_credentials: {…}}}');
}

function isComplete(credentials: unknown): credentials is CheckedCredentials {
  const { configuration } = (credentials ?? {}) as Partial<ExtractedCredentials>;
  const own = configuration?.oauth_credentials;
  if (typeof own !== 'object' || own === null) return false;
  if (own.access_token === undefined || typeof own.access_token === 'string') return true;
  throw new OAuthFailure('extractCredentials returned an access_token that is not a text');
}

function usualCredentials(response: OAuthTokenResponse): ExtractedCredentials {
  const { access_token, refresh_token } = response;
  if (!isText(access_token)) throw new OAuthFailure('the token endpoint gave no access token', FINAL);
  const lastsMs = (numberOf(response['expires_in']) ?? 0) * 1_000;
  const expires_at = lastsMs > 0 ? Date.now() + lastsMs : timeOf(response['expires_at']);
  return {
    configuration: {
      oauth_credentials: {
        access_token,
        ...(isText(refresh_token) && { refresh_token }),
        ...(expires_at !== undefined && { expires_at }),
      },
    },
  };
}

const FINAL = { isFinal: true } as const;

/** Times below this are seconds: as milliseconds they would be in 1973. */
const SECONDS_BELOW = 100_000_000_000;

/**
 * A time in milliseconds since 1970, of a number of milliseconds or seconds, or of a date as text.
 * Undefined for none: providers write 0 or nothing for a token that does not expire.
 */
export function timeOf(value: unknown): number | undefined {
  const time = numberOf(value) ?? (isText(value) ? Date.parse(value) : Number.NaN);
  if (!(time > 0)) return undefined;
  return time < SECONDS_BELOW ? time * 1_000 : time;
}

/** A finite number, also one that is written as text. */
function numberOf(value: unknown): number | undefined {
  const isWritten = typeof value === 'string' && value.trim() !== '';
  const number = typeof value === 'number' || isWritten ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}
