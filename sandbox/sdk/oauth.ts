/**
 * `createOAuthHandler`: connects a target with an account at a provider (docs/contract/oauth.md).
 *
 * One handler is both ends of the flow: without a `code` it sends the browser to the provider; with
 * one it requests tokens and stores them in the configuration of the target at whose endpoint it
 * answers. A failure before that last step changes nothing, shows a page and logs the reason.
 *
 * The URL of an endpoint is enough to begin a flow; the account that is connected is that of the
 * person who finishes it (docs/contract/oauth.md#not-promised). An integration that needs more
 * checks the person's identity before it calls the handler.
 */
import { ApiError } from './api.ts';
import type { Context } from './context.ts';
import type { Environment, Installation } from './environment.ts';
import type { AccountConfiguration, Configuration, OAuthCredentials } from './manifest-types.ts';
import { page } from './oauth-pages.ts';
import {
  type CheckedCredentials,
  checkConfig,
  clientGrant,
  extracted,
  isText,
  type OAuthClientCredentials,
  type OAuthConfig,
  OAuthFailure,
  type OAuthTokenResponse,
  parametersOf,
  requestTokens,
  scopeOf,
  settingOf,
  wordOf,
} from './oauth-provider.ts';
import {
  beginFlow,
  endFlow,
  FLOW_SECONDS,
  type FlowParts,
  isRandomText,
  randomText,
  type StateFault,
  sha256,
} from './signed-state.ts';
import { endpointPath, readQuery, withQuery } from './url.ts';

/** The second parameter of `createOAuthHandler`. */
export interface OAuthOptions {
  /** Whether credentials replace the whole configuration; by default they are merged into it. */
  readonly replace?: boolean;
}

/**
 * Makes the handler of an OAuth connection. Call it from `fetch` for the path that a `button`
 * property of the manifest names as its `callback_url`.
 *
 * @param config the provider (docs/contract/oauth.md#parameters)
 * @param options whether credentials replace the configuration
 * @returns handler that answers a redirect or a page: 200 connected, 400 refused, 502 failed
 *   (docs/contract/oauth.md#outcomes)
 * @throws TypeError if a parameter is missing or unknown. The publish fails then
 *
 * @example
 * const connect = createOAuthHandler({
 *   clientId: (_, { secrets }) => secrets.CLIENT_ID,
 *   clientSecret: (_, { secrets }) => secrets.CLIENT_SECRET,
 *   authorizeURL: 'https://provider.example/authorize',
 *   accessTokenURL: 'https://provider.example/token',
 *   scopes: ['read', 'write'],
 * });
 * export default createIntegration({
 *   fetch: (request, context) =>
 *     endpointPath(context.environment, request.url) === '/oauth'
 *       ? connect(request, context)
 *       : new Response('Hello'),
 * });
 */
export function createOAuthHandler<C extends Configuration = AccountConfiguration>(
  config: OAuthConfig<C> | OAuthClientCredentials<C>,
  options: OAuthOptions = {},
): (request: Request, context: Context<C>) => Promise<Response> {
  checkConfig(config);
  const isPosted = config.grant !== 'client_credentials' && config.responseMode === 'form_post';
  return async (request, context) => {
    const { environment } = context;
    if (isPosted && request.method === 'POST') return posted(request);
    if (request.method !== 'GET') {
      const headers = { allow: isPosted ? 'GET, POST' : 'GET' };
      return new Response('Method not allowed', { status: 405, headers });
    }
    const { installation } = environment;
    if (installation === undefined) {
      return page({ status: 400, title: 'Not connected', words: 'This URL belongs to no installation.' });
    }
    const place = { options, context, environment, installation };
    if (config.grant === 'client_credentials')
      return connectClient({ ...place, config }).catch((failure) => failed(failure, undefined));
    const flow = { ...place, config };
    const query = readQuery(request.url);
    const isCallback = ANSWER_PARAMETERS.some((name) => query[name] !== undefined);
    try {
      return isCallback ? await finish(flow, request) : await begin(flow, request);
    } catch (failure) {
      return failed(failure, isCallback ? endedCookie(environment) : undefined);
    }
  };
}

/**
 * Parameters that only the answer of a provider has. A request with one of them begins no flow: a
 * provider that consents silently and sends no code would be asked again without an end.
 */
const ANSWER_PARAMETERS = [
  ...['code', 'error', 'state', 'error_description', 'error_reason', 'error_code'],
  // Microsoft's consent of an administrator, the installation of a GitHub App, a denial at X.
  ...['admin_consent', 'setup_action', 'denied'],
];

/** Bytes of an answer that a browser posts: it becomes a URL, which servers limit. */
const POSTED_CHARS_MAX = 8_192;

/**
 * Takes the answer of a provider that a browser posts, and sends the browser on to the same URL
 * with it. All checks are those of a `GET`.
 *
 * Attack: login CSRF by a form of another site. The flow's cookie is `SameSite=Lax`, which browsers
 * send with no `POST` of another site, the provider's own included; so nothing is decided here.
 * They send it with the `GET` that follows. With `SameSite=None` it would come with every request
 * of every site, and not at all over plain http.
 */
async function posted(request: Request): Promise<Response> {
  const form = readQuery(`?${await request.text()}`);
  const [here = ''] = request.url.split(/[?#]/, 1);
  // What else a form has, such as the name of a person, is not for a URL.
  const answer = ANSWER_PARAMETERS.flatMap((name) => (form[name] === undefined ? [] : [[name, form[name]]]));
  const location = withQuery(here, Object.fromEntries(answer));
  if (answer.length === 0 || location.length > POSTED_CHARS_MAX) {
    const words = 'This is no answer of a provider. Nothing was changed. Go back and connect again.';
    return page({ status: 400, title: 'Not connected', words });
  }
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return new Response(null, { status: 303, headers });
}

interface Flow<C extends Configuration, Config = OAuthConfig<C>> {
  readonly config: Config;
  readonly options: OAuthOptions;
  readonly context: Context<C>;
  readonly environment: Environment<C>;
  readonly installation: Installation<C>;
}

async function begin<C extends Configuration>(flow: Flow<C>, request: Request): Promise<Response> {
  const { config, environment, installation } = flow;
  const { prompt, responseMode } = config;
  const known = cookieOf(request, environment);
  // Two windows of one browser share the cookie, so that neither ends the other's flow.
  const cookie = isRandomText(known) ? known : randomText();
  const parts = await partsOf(flow, request);
  const path = endpointPath(environment, request.url) ?? '';
  const { state, challenge } = await beginFlow({ ...parts, cookie, path });
  const location = withQuery(await settingOf(config, 'authorizeURL', installation, environment), {
    ...(await parametersOf(config.authorizeParameters, installation, environment)),
    client_id: parts.clientId,
    redirect_uri: parts.redirectURI,
    response_type: 'code',
    ...(responseMode !== undefined && { response_mode: responseMode }),
    ...scopeOf(config),
    ...(prompt !== undefined && { prompt }),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return new Response(null, {
    status: 302,
    headers: {
      location,
      'set-cookie': cookieText(environment, cookie, FLOW_SECONDS),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    },
  });
}

const FAULTS: Readonly<Record<StateFault, string>> = {
  forged: 'The answer does not belong to a request of this integration.',
  foreign: 'The answer belongs to another installation of this integration.',
  expired: 'The attempt to connect took too long.',
  'another browser':
    'The attempt to connect was begun in another browser, was already completed, or cookies are blocked.',
  spent: 'This attempt to connect was already completed.',
};

async function finish<C extends Configuration>(flow: Flow<C>, request: Request): Promise<Response> {
  const { config, environment, installation } = flow;
  const { code, error, error_description: description, state } = readQuery(request.url);
  const isDenied = error === 'access_denied' && !state;
  const parts = await partsOf(flow, request);
  const checked = await endFlow(state, { ...parts, cookie: cookieOf(request, environment) });
  const ended = 'fault' in checked || (await isFirst(flow, checked.digest)) ? checked : SPENT;
  if ('fault' in ended) {
    console.error(`OAuth: the state is refused: ${ended.fault}`);
    const words = `${isDenied ? DENIED : FAULTS[ended.fault]} Nothing was changed. Go back and connect again.`;
    return page({ status: 400, title: 'Not connected', words });
  }
  const cookie = endedCookie(environment);
  if (error || !code) {
    const reason = error ? `the error ${wordOf(error) ?? 'of no known form'}` : 'neither a code nor an error';
    console.error(`OAuth: the provider answered with ${reason}`);
    return page({ status: 400, title: 'Not connected', words: refusalWords(error, description), cookie });
  }
  const answer = await requestTokens(config, environment, installation, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: parts.redirectURI,
    code_verifier: ended.verifier,
  });
  await save(flow, await extracted(config, answer), answer.response);
  return page({ status: 200, title: 'Connected', words: CONNECTED, cookie });
}

const SPENT = { fault: 'spent' } as const;

/**
 * Spends the state before the code is exchanged: of two concurrent callbacks, one is refused. The
 * platform stores spent states, because the installation may have several isolates.
 *
 * @throws OAuthFailure if the API refuses
 */
async function isFirst<C extends Configuration>(
  { context, environment }: Pick<Flow<C>, 'context' | 'environment'>,
  digest: string,
): Promise<boolean> {
  try {
    const { states } = targetRoutes(environment);
    const { body } = await context.api.request(`POST ${states}`, { body: { digest } });
    return body.isFirst;
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    throw new OAuthFailure(`the state could not be spent: ${cause.message}`, { cause });
  }
}

/** Milliseconds in which one client's token is requested once. */
const CLIENT_PAUSE_MS = 10_000;

/**
 * Connects the client itself. There is no answer of a browser, and so no state: whoever opens the
 * URL, the account is that of the client.
 *
 * Attack: to open the URL in a loop, so that the provider blocks the client.
 */
async function connectClient<C extends Configuration>(
  flow: Flow<C, OAuthClientCredentials<C>>,
): Promise<Response> {
  const { config, environment, installation } = flow;
  const turn = await sha256(`client credentials ${Math.floor(Date.now() / CLIENT_PAUSE_MS)}`);
  if (!(await isFirst(flow, turn))) {
    const words = 'The provider was asked a moment ago. Nothing was changed. Try again in ten seconds.';
    return page({ status: 429, title: 'Not connected', words });
  }
  const answer = await requestTokens(config, environment, installation, clientGrant(config));
  await save(flow, await extracted(config, answer), answer.response);
  return page({ status: 200, title: 'Connected', words: CONNECTED });
}

const CONNECTED = 'The connection was made. You may close this window.';

/** Characters of the provider's error text that a page shows. */
const SHOWN_CHARS = 300;

const DENIED = 'Access was not granted.';

function refusalWords(error: string | undefined, description = ''): string {
  let reason = `The provider refused: ${(description || error || '').slice(0, SHOWN_CHARS)}`;
  if (!error) reason = 'The answer of the provider has neither a code nor an error.';
  if (error === 'access_denied') reason = DENIED;
  return `${reason} Nothing was changed. You may close this window, or go back and connect again.`;
}

/** The values that a state is bound to. */
async function partsOf<C extends Configuration>(
  { config, environment, installation }: Flow<C>,
  request: Request,
): Promise<Omit<FlowParts, 'cookie' | 'path'>> {
  const [here = ''] = request.url.split(/[?#]/, 1);
  const shared = environment.integration.urls.oauthCallback;
  return {
    signingSecret: environment.signingSecrets.integration,
    clientId: await settingOf(config, 'clientId', installation, environment),
    redirectURI:
      config.redirectURL === undefined
        ? (shared ?? here)
        : await settingOf(config, 'redirectURL', installation, environment),
    target: { installation: installation.id, space: environment.space, site: environment.site },
  };
}

/** Attempts to store credentials while others edit the target. */
const STORE_ATTEMPTS = 8;

/**
 * Stores credentials in the configuration of the call's target.
 *
 * @throws OAuthFailure if the API refuses
 */
async function save<C extends Configuration>(
  flow: Flow<C, OAuthConfig<C> | OAuthClientCredentials<C>>,
  { configuration, externalIds }: CheckedCredentials,
  response: OAuthTokenResponse,
): Promise<void> {
  const { options, context, environment } = flow;
  const { target } = targetRoutes(environment);
  const more = externalIds === undefined ? {} : { externalIds };
  const keeps =
    flow.config.grant !== 'client_credentials' &&
    !isText(response['refresh_token']) &&
    mayKeepRefreshToken(flow, configuration, externalIds);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const kept = keeps ? await presentRefreshToken(flow) : undefined;
      const credentials = { ...configuration.oauth_credentials, ...kept?.credentials };
      const { body } = await context.api.request(`PATCH ${target}`, {
        query: { configuration: options.replace === true ? 'replace' : 'merge' },
        body: { configuration: { ...configuration, oauth_credentials: credentials }, ...more },
        ...(kept && { headers: { 'if-match': kept.etag } }),
      });
      for (const { property, message } of body.problems ?? [])
        console.warn(`OAuth: connected, but the configuration is not valid yet: ${property}: ${message}`);
      return;
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      if (keeps && cause.status === 412 && attempt < STORE_ATTEMPTS) continue;
      throw new OAuthFailure(`the credentials could not be stored: ${cause.message}`, { cause });
    }
  }
}

/**
 * Whether the target's refresh token is kept where a consent gave none: Google gives one with the
 * first consent only.
 *
 * Attack: a renewal that brings back an account that a person has replaced. Credentials with other
 * external ids than before keep nothing.
 */
function mayKeepRefreshToken<C extends Configuration>(
  { environment, installation }: Flow<C, unknown>,
  { oauth_credentials: fresh }: CheckedCredentials['configuration'],
  externalIds: readonly string[] | undefined,
): boolean {
  const own = environment.spaceInstallation ?? environment.siteInstallation ?? installation;
  const before = (own.configuration as Partial<Configuration>)['oauth_credentials'] as
    | OAuthCredentials
    | undefined;
  if (!isText(before?.refresh_token) || isText(fresh.refresh_token)) return false;
  const isOther = own.externalIds.length > 0 && own.externalIds.join('\n') !== externalIds?.join('\n');
  return externalIds === undefined || !isOther;
}

/**
 * The refresh token that is stored now: a renewal may have rotated the one of the call's
 * environment. The tag ties it to the edit.
 */
async function presentRefreshToken<C extends Configuration>({ context, environment }: Flow<C, unknown>) {
  const { lease: route } = targetRoutes(environment);
  const { body, headers } = await context.api.request(`POST ${route}`, { body: {} });
  const { lease, credentials } = body;
  if (lease !== undefined) await context.api.request(`DELETE ${route}/{lease}`, { path: { lease } });
  const { refresh_token } = (credentials ?? {}) as OAuthCredentials;
  return {
    credentials: isText(refresh_token) ? { refresh_token } : {},
    etag: headers.get('etag') ?? '',
  };
}

const INSTALLATION = '/integrations/{name}/installations/{id}';
const ROUTES = {
  organization: {
    target: INSTALLATION,
    lease: `${INSTALLATION}/credentials/lease`,
    lost: `${INSTALLATION}/credentials/lost`,
    states: `${INSTALLATION}/credentials/states`,
  },
  space: {
    target: `${INSTALLATION}/spaces/{space}`,
    lease: `${INSTALLATION}/spaces/{space}/credentials/lease`,
    lost: `${INSTALLATION}/spaces/{space}/credentials/lost`,
    states: `${INSTALLATION}/spaces/{space}/credentials/states`,
  },
  site: {
    target: `${INSTALLATION}/sites/{site}`,
    lease: `${INSTALLATION}/sites/{site}/credentials/lease`,
    lost: `${INSTALLATION}/sites/{site}/credentials/lost`,
    states: `${INSTALLATION}/sites/{site}/credentials/states`,
  },
} as const;

/** Routes of the API for the call's target. */
export function targetRoutes({
  space,
  site,
}: Pick<Environment, 'space' | 'site'>): (typeof ROUTES)[keyof typeof ROUTES] {
  if (space !== undefined) return ROUTES.space;
  return site === undefined ? ROUTES.organization : ROUTES.site;
}

function failed(failure: unknown, cookie: string | undefined): Response {
  // Any other error is a fault in code: it is logged with its stack.
  if (!(failure instanceof OAuthFailure)) throw failure;
  const { cause } = failure;
  console.error(`OAuth: ${failure.message}`, ...(cause instanceof Error ? [cause] : []));
  const words =
    'The provider could not be connected. Nothing was changed. The log of the installation says why.';
  return page({ status: 502, title: 'Not connected', words, cookie });
}

/** Name and scope of the cookie: confined to the endpoint as far as its origin allows. */
function cookieScope({ integration }: Pick<Environment, 'integration'>) {
  const { pathname, protocol } = new URL(integration.urls.publicEndpoint);
  const isSecure = protocol === 'https:';
  const prefix = !isSecure ? '' : pathname === '/' ? '__Host-' : '__Secure-';
  return { name: `${prefix}annex_oauth`, path: pathname, isSecure };
}

function cookieText(environment: Pick<Environment, 'integration'>, value: string, seconds: number): string {
  const { name, path, isSecure } = cookieScope(environment);
  // Attack: a form or script of another site that sends the cookie. The provider's redirect back is
  // a top-level navigation, for which Lax sends it.
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** Removes the cookie, so that no state of this browser is accepted again. */
const endedCookie = (environment: Pick<Environment, 'integration'>): string => cookieText(environment, '', 0);

function cookieOf(request: Request, environment: Pick<Environment, 'integration'>): string | undefined {
  const { name } = cookieScope(environment);
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
