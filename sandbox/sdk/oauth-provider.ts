/**
 * An OAuth provider as an integration describes it, and requests to its token endpoint
 * (docs/contract/oauth.md#callback).
 *
 * Failures are `OAuthFailure`s whose message may be logged: it has at most one word of the
 * provider, and never a code, a token or a secret. Nothing is stored here.
 */
import type { Environment, Installation } from './environment.ts';
import type { AccountConfiguration, Configuration, OAuthCredentials } from './manifest-types.ts';

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
 * The JSON of a token endpoint's answer. If the JSON itself has no `ok` or `status`, they are those
 * of the HTTP answer, and not enumerable.
 */
export interface OAuthTokenResponse {
  /** Whether the request succeeded. */
  readonly ok: boolean;
  /** HTTP status. */
  readonly status: number;
  /** Members of the JSON, such as `access_token`. */
  readonly [member: string]: unknown;
}

/**
 * The parameter of `createOAuthHandler` and of `getOAuthToken` (docs/contract/oauth.md#parameters).
 *
 * @typeParam C configuration at the level of the account
 */
export interface OAuthConfig<C extends Configuration = AccountConfiguration> {
  /** Client id at the provider. */
  readonly clientId: OAuthSetting<C>;
  /** Client secret at the provider. */
  readonly clientSecret: OAuthSetting<C>;
  /** URL to which the browser is sent; its own query is kept. */
  readonly authorizeURL: OAuthSetting<C>;
  /** The provider's token endpoint. */
  readonly accessTokenURL: OAuthSetting<C>;
  /**
   * Redirect URL that the provider knows, for a provider that allows only one; by default the URL
   * of the request without its query. The page there must send the browser on to the handler of
   * the same target, with the same query.
   */
  readonly redirectURL?: OAuthSetting<C>;
  /** Scopes to request. */
  readonly scopes?: readonly string[];
  /** Parameter `prompt` of the authorization request, such as `consent`. */
  readonly prompt?: string;
  /**
   * Makes credentials of the provider's answer, also of the answer to a renewal. The default keeps
   * `access_token`, `refresh_token`, and `expires_at` made from `expires_in`.
   *
   * It may throw, for example if `ok` is false. Then, and whenever the HTTP answer was a refusal,
   * nothing is changed.
   */
  extractCredentials?(response: OAuthTokenResponse): Awaitable<ExtractedCredentials>;
}

/** A failure of the flow; its message is for the log. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure';
  /** The provider's error code, such as `invalid_grant`. */
  readonly word: string | undefined;

  constructor(message: string, word?: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.word = word;
  }
}

/**
 * Value of a setting for the installation of this call.
 *
 * @throws OAuthFailure if it is not set, or a URL that is not allowed
 */
export async function settingOf<C extends Configuration>(
  config: OAuthConfig<C>,
  name: 'clientId' | 'clientSecret' | 'authorizeURL' | 'accessTokenURL' | 'redirectURL',
  installation: Installation<C>,
  environment: Environment<C>,
): Promise<string> {
  const setting = config[name];
  const value = typeof setting === 'function' ? await setting(installation, environment) : setting;
  if (typeof value !== 'string' || value === '') throw new OAuthFailure(`${name} is not set`);
  // Attack: an organization types in a URL that sends browsers or secrets elsewhere than to a web
  // server.
  if (name.endsWith('URL') && !isWebURL(value))
    throw new OAuthFailure(`${name} is not an allowed http or https URL`);
  return value;
}

function isWebURL(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '' && hash === '';
}

/** Answer of the token endpoint. */
export interface TokenAnswer {
  readonly response: OAuthTokenResponse;
  /** Set if the HTTP status is not a success. */
  readonly refusal: OAuthFailure | undefined;
}

/**
 * Sends a request to the token endpoint (RFC 6749, sections 4.1.3 and 6), with the client secret in
 * the form.
 *
 * @throws OAuthFailure if it cannot be reached, or its answer is not a JSON object
 */
export async function requestTokens<C extends Configuration>(
  config: OAuthConfig<C>,
  environment: Environment<C>,
  installation: Installation<C>,
  grant: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const setting = (name: 'clientId' | 'clientSecret' | 'accessTokenURL') =>
    settingOf(config, name, installation, environment);
  const url = await setting('accessTokenURL');
  const form = {
    ...grant,
    client_id: await setting('clientId'),
    client_secret: await setting('clientSecret'),
  };
  const { ok, status, text } = await post(url, new URLSearchParams(form));
  const answer = objectOf(text);
  const word = wordOf(answer?.['error']);
  const reason = word === undefined ? '' : ` (${word})`;
  const refusal = ok ? undefined : new OAuthFailure(`the token endpoint answered ${status}${reason}`, word);
  if (answer === undefined)
    throw refusal ?? new OAuthFailure('the token endpoint answered with no JSON object');
  return { response: withStatus(answer, { ok, status }), refusal };
}

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

async function post(
  url: string,
  form: URLSearchParams,
): Promise<{ ok: boolean; status: number; text: string }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      // Attack: a redirect that takes the client secret and the code to another server.
      redirect: 'manual',
    });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (cause) {
    throw new OAuthFailure('the token endpoint cannot be reached', undefined, cause);
  }
}

function objectOf(text: string): Record<string, unknown> | undefined {
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
  typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined;

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
  { extractCredentials = usualCredentials }: OAuthConfig<C>,
  { response, refusal }: TokenAnswer,
): Promise<CheckedCredentials> {
  if (refusal !== undefined && extractCredentials === usualCredentials) throw refusal;
  let credentials: unknown;
  try {
    credentials = await extractCredentials(response);
  } catch (cause) {
    if (refusal !== undefined) throw new OAuthFailure(refusal.message, refusal.word, cause);
    if (cause instanceof OAuthFailure) throw cause;
    throw new OAuthFailure('extractCredentials failed', undefined, cause);
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
  const { access_token, refresh_token, expires_in, error } = response;
  if (typeof access_token !== 'string' || access_token === '') {
    // Some providers refuse with status 200.
    const word = wordOf(error);
    throw new OAuthFailure(`the token endpoint gave no access token${word ? ` (${word})` : ''}`, word);
  }
  const seconds = Number(expires_in ?? Number.NaN);
  return {
    configuration: {
      oauth_credentials: {
        access_token,
        ...(typeof refresh_token === 'string' && { refresh_token }),
        ...(Number.isFinite(seconds) && { expires_at: Date.now() + seconds * 1_000 }),
      },
    },
  };
}
