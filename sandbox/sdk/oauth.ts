/**
 * `createOAuthHandler`: connects an installation with an account elsewhere (SPEC "OAuth handler", REFERENCE 6).
 *
 * One handler is both ends of the flow: without a `code` it sends the browser to the provider, with one it asks the provider
 * for tokens and puts them into the configuration of the target whose endpoint it answers at. Whatever goes wrong before that
 * last step changes nothing, shows a page that says so, and leaves a line in the log that says why.
 *
 * Whoever knows the URL of an endpoint can begin a flow there, as REFERENCE 6 has it: the account that is connected is that of
 * whoever finishes it. An integration that is to be stricter asks who it is before it calls the handler.
 */
import { ApiError } from './api.ts';
import type { Context } from './context.ts';
import type { Environment, Installation } from './environment.ts';
import type { AccountConfiguration, Configuration } from './manifest-types.ts';
import { page } from './oauth-pages.ts';
import {
  extracted,
  type GivenCredentials,
  type OAuthConfig,
  OAuthFailure,
  requestTokens,
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
} from './signed-state.ts';
import { readQuery, withQuery } from './url.ts';

/** How credentials get into the configuration. */
export interface OAuthOptions {
  /** They become the whole configuration; unless told, they are merged into it. */
  readonly replace?: boolean;
}

/** A misspelt key would be an option that is never heeded. */
const KEYS: readonly string[] = [
  ...['clientId', 'clientSecret', 'authorizeURL', 'accessTokenURL', 'redirectURL', 'scopes', 'prompt'],
  'extractCredentials',
];
const REQUIRED = ['clientId', 'clientSecret', 'authorizeURL', 'accessTokenURL'] as const;

/**
 * Makes the handler of an OAuth connection, to be called from `fetch` for the path that a `button` property of the manifest
 * names as its `callback_url`.
 *
 * @throws TypeError where a parameter is missing or unknown
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
 *     endpointPath(context.environment, request.url) === '/oauth' ? connect(request, context) : new Response('Hello'),
 * });
 */
export function createOAuthHandler<C extends Configuration = AccountConfiguration>(
  config: OAuthConfig<C>,
  options: OAuthOptions = {},
): (request: Request, context: Context<C>) => Promise<Response> {
  for (const key of Object.keys(config)) {
    if (!KEYS.includes(key))
      throw new TypeError(`createOAuthHandler: "${key}" is none of ${KEYS.join(', ')}`);
  }
  for (const key of REQUIRED) {
    const isSet =
      typeof config[key] === 'function' || (typeof config[key] === 'string' && config[key] !== '');
    if (!isSet) throw new TypeError(`createOAuthHandler: ${key} must be a text or a function`);
  }
  return async (request, context) => {
    if (request.method !== 'GET') {
      return new Response('Method not allowed', { status: 405, headers: { allow: 'GET' } });
    }
    const { environment } = context;
    const { installation } = environment;
    if (installation === undefined) {
      return page({ status: 400, title: 'Not connected', words: 'This URL belongs to no installation.' });
    }
    const { code, error } = readQuery(request.url);
    const flow = { config, options, context, environment, installation };
    const isCallback = code !== undefined || error !== undefined;
    try {
      return isCallback ? await finish(flow, request) : await begin(flow, request);
    } catch (failure) {
      return failed(failure, isCallback ? endedCookie(environment) : undefined);
    }
  };
}

interface Flow<C extends Configuration> {
  readonly config: OAuthConfig<C>;
  readonly options: OAuthOptions;
  readonly context: Context<C>;
  readonly environment: Environment<C>;
  readonly installation: Installation<C>;
}

async function begin<C extends Configuration>(flow: Flow<C>, request: Request): Promise<Response> {
  const { config, environment, installation } = flow;
  const { scopes = [], prompt } = config;
  const known = cookieOf(request, environment);
  // The same for all that this browser has begun and not finished, so that two windows do not end each other's flow.
  const cookie = isRandomText(known) ? known : randomText();
  const parts = await partsOf(flow, request);
  const { state, challenge } = await beginFlow({ ...parts, cookie });
  const location = withQuery(await settingOf(config, 'authorizeURL', installation, environment), {
    client_id: parts.clientId,
    redirect_uri: parts.redirectURI,
    response_type: 'code',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
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
  expired: 'It took too long.',
  'another browser': 'It was begun in another browser, has been finished already, or cookies are blocked.',
  spent: 'It has been finished already.',
};

async function finish<C extends Configuration>(flow: Flow<C>, request: Request): Promise<Response> {
  const { config, environment, installation } = flow;
  const { code, error, error_description: description, state } = readQuery(request.url);
  const parts = await partsOf(flow, request);
  const believed = await endFlow(state, { ...parts, cookie: cookieOf(request, environment) });
  const ended = 'fault' in believed || (await isFirst(flow, believed.digest)) ? believed : SPENT;
  if ('fault' in ended) {
    console.error(`OAuth: the state is refused: ${ended.fault}`);
    const words = `${FAULTS[ended.fault]} Nothing was changed. Go back and connect again.`;
    return page({ status: 400, title: 'Not connected', words });
  }
  const cookie = endedCookie(environment);
  if (error !== undefined || code === undefined) {
    console.error(`OAuth: the provider answered with the error ${wordOf(error) ?? 'of no known form'}`);
    return page({ status: 400, title: 'Not connected', words: refusalWords(error, description), cookie });
  }
  const answer = await requestTokens(config, environment, installation, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: parts.redirectURI,
    code_verifier: ended.verifier,
  });
  await save(flow, await extracted(config, answer));
  const words = 'The connection was made. You may close this window.';
  return page({ status: 200, title: 'Connected', words, cookie });
}

const SPENT = { fault: 'spent' } as const;

/**
 * Spends the state, before the code is exchanged: of two callbacks at once, one is refused. The platform keeps what was spent,
 * because this isolate may not be the only one.
 *
 * @throws OAuthFailure where the platform cannot be asked
 */
async function isFirst<C extends Configuration>(
  { context, environment }: Flow<C>,
  digest: string,
): Promise<boolean> {
  try {
    const { states } = targetRoutes(environment);
    const { body } = await context.api.request(`POST ${states}`, { body: { digest } });
    return body.isFirst;
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    throw new OAuthFailure(`the state could not be spent: ${cause.message}`, undefined, cause);
  }
}

/** How much of a provider's words is shown. */
const SHOWN_CHARS = 300;

function refusalWords(error: string | undefined, description = ''): string {
  const reason =
    error === 'access_denied'
      ? 'Access was not granted.'
      : `The provider refused: ${(description || error || '').slice(0, SHOWN_CHARS)}`;
  return `${reason} Nothing was changed. You may close this window, or go back and connect again.`;
}

/** What a state is held to. */
async function partsOf<C extends Configuration>(
  { config, environment, installation }: Flow<C>,
  request: Request,
): Promise<Omit<FlowParts, 'cookie'>> {
  const [here = ''] = request.url.split(/[?#]/, 1);
  return {
    signingSecret: environment.signingSecrets.integration,
    clientId: await settingOf(config, 'clientId', installation, environment),
    redirectURI:
      config.redirectURL === undefined
        ? here
        : await settingOf(config, 'redirectURL', installation, environment),
    target: { installation: installation.id, space: environment.space, site: environment.site },
  };
}

/** Puts credentials into the configuration of the target of the call. @throws OAuthFailure */
async function save<C extends Configuration>(
  { options, context, environment }: Flow<C>,
  { configuration, externalIds }: GivenCredentials,
): Promise<void> {
  const more = externalIds === undefined ? {} : { externalIds };
  try {
    const { target } = targetRoutes(environment);
    const unset = options.replace === true ? await unsetting(context, environment) : {};
    const { body } = await context.api.request(`PATCH ${target}`, {
      body: { configuration: { ...unset, ...configuration }, ...more },
    });
    for (const { property, message } of body.problems ?? [])
      console.warn(`OAuth: connected, but the configuration is not valid yet: ${property}: ${message}`);
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    throw new OAuthFailure(`the credentials could not be stored: ${cause.message}`, undefined, cause);
  }
}

/** Every property that is set now, to be set no more. */
async function unsetting<C extends Configuration>(
  context: Context<C>,
  environment: Environment<C>,
): Promise<Record<string, null>> {
  const { body } = await context.api.request(`GET ${targetRoutes(environment).target}`);
  return Object.fromEntries(Object.keys(body.configuration ?? {}).map((name) => [name, null]));
}

const INSTALLATION = '/integrations/{name}/installations/{id}';
const ROUTES = {
  organization: {
    target: INSTALLATION,
    lease: `${INSTALLATION}/credentials/lease`,
    states: `${INSTALLATION}/credentials/states`,
  },
  space: {
    target: `${INSTALLATION}/spaces/{space}`,
    lease: `${INSTALLATION}/spaces/{space}/credentials/lease`,
    states: `${INSTALLATION}/spaces/{space}/credentials/states`,
  },
  site: {
    target: `${INSTALLATION}/sites/{site}`,
    lease: `${INSTALLATION}/sites/{site}/credentials/lease`,
    states: `${INSTALLATION}/sites/{site}/credentials/states`,
  },
} as const;

/** Where the target of the call is in the API. */
export function targetRoutes({
  space,
  site,
}: Pick<Environment, 'space' | 'site'>): (typeof ROUTES)[keyof typeof ROUTES] {
  if (space !== undefined) return ROUTES.space;
  return site === undefined ? ROUTES.organization : ROUTES.site;
}

function failed(failure: unknown, cookie: string | undefined): Response {
  // What is no failure of the flow is a fault in somebody's code: it goes the way of all faults, with its stack.
  if (!(failure instanceof OAuthFailure)) throw failure;
  const { cause } = failure;
  console.error(`OAuth: ${failure.message}`, ...(cause instanceof Error ? [cause] : []));
  const words =
    'The provider could not be connected. Nothing was changed. The log of the installation says why.';
  return page({ status: 502, title: 'Not connected', words, cookie });
}

/** Name and home of the cookie: nobody but the endpoint gets it, as far as its origin allows. */
function cookieHome({ integration }: Pick<Environment, 'integration'>) {
  const { pathname, protocol } = new URL(integration.urls.publicEndpoint);
  const isSecure = protocol === 'https:';
  const prefix = !isSecure ? '' : pathname === '/' ? '__Host-' : '__Secure-';
  return { name: `${prefix}annex_oauth`, path: pathname, isSecure };
}

function cookieText(environment: Pick<Environment, 'integration'>, value: string, seconds: number): string {
  const { name, path, isSecure } = cookieHome(environment);
  // Lax: the provider sends the browser back with a link, and another site's form or script is to bring nothing.
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** Takes the cookie away: no state of this browser's ends a second flow. */
const endedCookie = (environment: Pick<Environment, 'integration'>): string => cookieText(environment, '', 0);

function cookieOf(request: Request, environment: Pick<Environment, 'integration'>): string | undefined {
  const { name } = cookieHome(environment);
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
