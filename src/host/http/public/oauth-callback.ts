/**
 * `GET` and `POST /oauth/{integration}/callback`: one redirect URL for all installations of an
 * integration (docs/contract/oauth.md#one-redirect-url). Providers accept only URLs that were
 * registered, and installations come and go.
 *
 * It sends the browser on to the handler that began the flow, which the signed state names. The
 * handler checks the state once more, with the browser's cookie, and exchanges the code. Nothing is
 * changed here, no isolate is entered, and the code is not read.
 *
 * A `POST` is the answer of a provider that has the browser post it. It leads on as a `GET`, so
 * that the browser sends the flow's cookie, which is `SameSite=Lax`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import { oauthCallbackUrl } from '../../../model/endpoint-urls.ts';
import { type ReadState, readState } from '../../../model/oauth-state.ts';
import type { Target } from '../../../model/target.ts';
import type { UsedOAuthStates } from '../../store/installations/used-oauth-states.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import { hostsOf } from '../request-head.ts';
import { leavesEndpoint } from './endpoint-address.ts';

export interface OAuthCallbackDeps {
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
  readonly usedOAuthStates: Pick<UsedOAuthStates, 'isSpent'>;
  readonly origins: {
    /** The base of redirect URLs; empty where there are none. */
    readonly oauthUrl: string;
  };
  /**
   * Whether the redirect URLs have a host of their own, because endpoints have origins of their
   * own.
   */
  readonly hasOwnHost: boolean;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Bytes of an answer that a browser posts, and characters of the URL that is made of it. */
const POSTED_BYTES_MAX = 8_192;

/**
 * As in `sandbox/sdk/oauth.ts`. What else a form has, such as a person's name, is not for a URL.
 */
const ANSWER_PARAMETERS = [
  ...['code', 'error', 'state', 'error_description', 'error_reason', 'error_code'],
  ...['admin_consent', 'setup_action', 'denied'],
];

/**
 * Registers the routes.
 *
 * @param count counts the request against the rate of its address
 * @param read reads a body of at most so many bytes
 * @param others answers requests to the same path on other hosts, which are those of endpoints
 */
export function oauthCallbackRoute(
  app: FastifyInstance,
  deps: OAuthCallbackDeps,
  {
    count,
    read,
    others,
  }: {
    count(request: FastifyRequest): void;
    read(request: FastifyRequest, bytesMax: number): Promise<Buffer>;
    readonly others: Handle;
  },
): void {
  const isHere = deps.hasOwnHost ? hostsOf(deps.origins.oauthUrl) : () => true;
  app.route({
    method: ['GET', 'POST'],
    url: '/oauth/:integration/callback',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      if (!isHere(request.headers.host)) return others(request, reply);
      count(request);
      const { integration = '' } = request.params as { integration?: string };
      const isPosted = request.method === 'POST';
      const search = isPosted
        ? postedAnswer(await read(request, POSTED_BYTES_MAX))
        : searchOf(request.originalUrl);
      const location = await handlerOf(integration, search, deps);
      return reply
        .code(isPosted ? 303 : 302)
        .headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
        .send();
    },
  });
}

const searchOf = (url: string): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '');

/** The answer of a form as a query: the first parameter of each name. */
function postedAnswer(body: Buffer): string {
  const form = new URLSearchParams(body.toString('utf8'));
  const answer = new URLSearchParams();
  for (const name of ANSWER_PARAMETERS) {
    const value = form.get(name);
    if (value !== null) answer.set(name, value);
  }
  const search = `?${answer.toString().replaceAll('+', '%20')}`;
  if (search.length > POSTED_BYTES_MAX) throw refused('The answer of the provider is too long.');
  return search;
}

/**
 * The URL of the handler that began the flow, with the provider's answer as its query.
 *
 * @throws AnnexError OAUTH_STATE_INVALID
 */
async function handlerOf(integration: string, search: string, deps: OAuthCallbackDeps): Promise<string> {
  const query = new URLSearchParams(search);
  const text = query.get('state') ?? '';
  // Some providers leave the state out of a denial.
  if (text === '' && query.get('error') === 'access_denied') throw refused('Access was not granted.');
  const owner = await deps.targets.ofIntegration(integration);
  const [signingSecret] = owner?.signingSecrets ?? [];
  if (text === '' || signingSecret === undefined) throw refused(FORGED);
  const redirectURI = oauthCallbackUrl(deps.origins.oauthUrl, integration);
  const state = readState(text, { signingSecret, redirectURI, now: deps.wallNow() });
  if (state === 'expired') throw refused('The attempt to connect took too long.');
  if (state === 'forged') throw refused(FORGED);
  const target = await deps.targets.named(state.target);
  if (target === undefined || !isHandler(target, integration, state)) throw refused(FORGED);
  if (await deps.usedOAuthStates.isSpent(state.target, state.digest))
    throw refused('This attempt to connect was already completed.');
  const location = new URL(`${target.publicEndpoint}${state.path}`);
  location.search = search;
  return location.href;
}

/**
 * Attack: code of one integration signs a state that names an installation of another one, or a
 * path that leads out of the endpoint.
 */
const isHandler = (target: Target, integration: string, { path }: ReadState): boolean =>
  target.integration === integration && !leavesEndpoint(path) && !/[?#]/.test(path);

const FORGED = 'The answer does not belong to a request of this integration.';

const refused = (why: string): AnnexError =>
  new AnnexError(
    'OAUTH_STATE_INVALID',
    `The account was not connected. ${why} Nothing was changed. Go back and connect again.`,
  );
