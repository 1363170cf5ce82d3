/**
 * An OAuth provider as an integration describes it, and its token endpoint (SPEC "OAuth handler", REFERENCE 6): what is sent
 * there, and what is made of the answer.
 *
 * What goes wrong becomes an `OAuthFailure`, whose message may be logged: it names what the provider said in one word, and
 * never a code, a token or a secret. Nothing is stored here.
 */
import type { Environment, Installation } from './environment.ts';
import type { AccountConfiguration, Configuration, OAuthCredentials } from './manifest-types.ts';

type Awaitable<T> = T | Promise<T>;

/** A value, or how to get it for one installation; undefined where it is not set, which ends the flow. */
export type OAuthSetting<C extends Configuration = AccountConfiguration> =
  | string
  | ((installation: Installation<C>, environment: Environment<C>) => Awaitable<string | undefined>);

/** What is kept of a provider's answer. Members may be taken from the answer as they are: what they hold is checked later. */
export interface ExtractedCredentials {
  /** Properties of the target's configuration, `oauth_credentials` among them. */
  readonly configuration: {
    readonly oauth_credentials: { readonly access_token?: unknown; readonly [member: string]: unknown };
    readonly [property: string]: unknown;
  };
  /** Ids by which the provider's own events are recognised; at most 5. */
  readonly externalIds?: readonly unknown[];
}

/**
 * A provider's answer to a request for tokens, as its JSON has it. Where the JSON itself has no `ok` or `status`, they are those
 * of the HTTP answer, and not enumerable.
 */
export interface OAuthTokenResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly [member: string]: unknown;
}

/** The parameter of `createOAuthHandler` and of `getOAuthToken` (SPEC "OAuth handler"). */
export interface OAuthConfig<C extends Configuration = AccountConfiguration> {
  /** Client application id from the provider. */
  readonly clientId: OAuthSetting<C>;
  /** Client secret from the provider. */
  readonly clientSecret: OAuthSetting<C>;
  /** Where users are sent to authorize. May have parameters of its own. */
  readonly authorizeURL: OAuthSetting<C>;
  /** Where the code is exchanged for a token, and a token renewed. */
  readonly accessTokenURL: OAuthSetting<C>;
  /**
   * The redirect URL that the provider knows, where it takes one only; the URL of the handler itself unless told. Whatever
   * answers there has to send the browser on to the handler of the installation, with the same query.
   */
  readonly redirectURL?: OAuthSetting<C>;
  /** Scopes to ask for. */
  readonly scopes?: readonly string[];
  /** How the provider is to prompt the user, as in `consent`. */
  readonly prompt?: string;
  /**
   * Makes credentials of the provider's answer; `access_token`, `refresh_token` and `expires_at` of it unless told. Asked
   * for renewed tokens, too. May throw, where `ok` is false for instance: nothing is changed then. Nor is it where the HTTP
   * answer was a refusal, whatever this returns.
   */
  extractCredentials?(response: OAuthTokenResponse): Awaitable<ExtractedCredentials>;
}

/** Something in the flow went wrong; the message is for the log. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure';
  /** The provider's own word for it, as in `invalid_grant`. */
  readonly word: string | undefined;

  constructor(message: string, word?: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.word = word;
  }
}

/** What a setting comes to for the installation of this call. @throws OAuthFailure where that is no text */
export async function settingOf<C extends Configuration>(
  config: OAuthConfig<C>,
  name: 'clientId' | 'clientSecret' | 'authorizeURL' | 'accessTokenURL' | 'redirectURL',
  installation: Installation<C>,
  environment: Environment<C>,
): Promise<string> {
  const setting = config[name];
  const value = typeof setting === 'function' ? await setting(installation, environment) : setting;
  if (typeof value !== 'string' || value === '') throw new OAuthFailure(`${name} is not set`);
  // The attack: a setting that an organization typed in, and that sends browsers or secrets where no web server is.
  if (name.endsWith('URL') && !isWebURL(value)) throw new OAuthFailure(`${name} is no URL of the web`);
  return value;
}

function isWebURL(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '' && hash === '';
}

/** What the token endpoint has said. */
export interface TokenAnswer {
  readonly response: OAuthTokenResponse;
  /** Set where it refuses. */
  readonly refusal: OAuthFailure | undefined;
}

/**
 * Asks the token endpoint (RFC 6749, sections 4.1.3 and 6), with the client's secret in the form.
 *
 * @throws OAuthFailure where it cannot be reached, or answers with no JSON object
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
  const said = word === undefined ? '' : ` (${word})`;
  const refusal = ok ? undefined : new OAuthFailure(`the token endpoint answered ${status}${said}`, word);
  if (answer === undefined)
    throw refusal ?? new OAuthFailure('the token endpoint answered with no JSON object');
  return { response: withStatus(answer, { ok, status }), refusal };
}

/** Adds `ok` and `status` where the answer has none of its own: some providers say `"ok": false` with status 200. */
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
      // The attack: a redirect that hands the secret and the code to whoever it points at.
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

/** One word of a provider's, as it may stand in a log; anything longer may hold what it was sent. */
export const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined;

/** Credentials as they are stored. */
export interface GivenCredentials {
  readonly configuration: {
    readonly oauth_credentials: OAuthCredentials;
    readonly [property: string]: unknown;
  };
  readonly externalIds?: readonly string[];
}

/**
 * What is to be kept of an answer.
 *
 * @throws OAuthFailure where the endpoint has refused, and where the author's function throws or returns something else
 */
export async function extracted<C extends Configuration>(
  { extractCredentials = usualCredentials }: OAuthConfig<C>,
  { response, refusal }: TokenAnswer,
): Promise<GivenCredentials> {
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
  if (isGiven(credentials)) return credentials;
  throw new OAuthFailure('extractCredentials must return {configuration: {oauth_credentials: {…}}}');
}

function isGiven(credentials: unknown): credentials is GivenCredentials {
  const { configuration } = (credentials ?? {}) as Partial<ExtractedCredentials>;
  const own = configuration?.oauth_credentials;
  if (typeof own !== 'object' || own === null) return false;
  if (own.access_token === undefined || typeof own.access_token === 'string') return true;
  throw new OAuthFailure('extractCredentials gave an access_token that is no text');
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
