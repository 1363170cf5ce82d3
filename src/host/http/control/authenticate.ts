/**
 * Authentication: the bearer token of a request (RFC 6750), or that of the console's session,
 * becomes its principal.
 *
 * Runs before the body is read. Attack: uploads without a token. Each route decides what the
 * principal may do; but runtime tokens get no further than here unless the route declares that it
 * accepts them. A route that forgets the declaration is closed to tenants' code, not open. The same
 * holds for UI tokens, which are in pages: answers to them are the only ones that a page of another
 * origin may read, where the token names it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { Actor } from '../../../model/actor.ts';
import type { PortalView } from '../../../model/portal.ts';
import {
  type HolderPrincipal,
  isRuntime,
  lacksRight,
  type Principal,
  type RuntimePrincipal,
  type TokenRight,
  type UiPrincipal,
} from '../../../model/principal.ts';
import { bearerToken, type Credentials, type Refused } from '../credentials.ts';
import { inProcessDepth, inProcessGeneration } from '../loopback-listeners.ts';
import { CONSOLE, PORTAL, sessionToken } from '../page-session.ts';

const ACTOR = 'actor';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route accepts runtime tokens; it then decides which. */
    runtime?: true;
    /** Whether the route accepts UI tokens: all, or those for the webhook of their target. */
    ui?: true | 'webhook';
    /** Whether it answers the question of a browser before a request with a UI token. */
    preflight?: true;
    /** Views of the portal that use the route. */
    portal?: readonly PortalView[];
  }
}

/** `config` of a route that accepts runtime tokens, and so code of integrations. */
export const FOR_RUNTIME = { runtime: true } as const;
const REFUSALS = {
  unknown: 'The token is unknown or revoked.',
  expired: 'The token has expired. Tokens of the environment are valid for one call: read them in each call.',
  ended:
    'The token has expired: it was made with an end. The operator makes another one (annex token create).',
} as const;

/** The error for a token that has no principal. */
export const tokenRefused = (why: Refused): AnnexError => new AnnexError('TOKEN_INVALID', REFUSALS[why]);

/** The token that a request came with: its own, or that of a session of the console. */
export const tokenOf = ({ raw }: FastifyRequest): string | undefined =>
  bearerToken(raw) ?? sessionToken(CONSOLE, raw);

/** Requires a token for every route of this instance and of those below it. */
export function authenticate(app: FastifyInstance, credentials: Credentials): void {
  app.decorateRequest(ACTOR);
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.preflight) return;
    const token = tokenOf(request);
    if (token === undefined) {
      throw new AnnexError('TOKEN_MISSING', 'Send a token: "Authorization: Bearer <token>".');
    }
    const page = await credentials.uiGrant(request.raw, token);
    if (page !== undefined) answerPage(request, reply, page.origins);
    const principal = page?.principal ?? (await credentials.principal(request.raw, token));
    if (typeof principal !== 'object') throw tokenRefused(principal);
    if (isRuntime(principal) && request.routeOptions.config.runtime !== true)
      throw notForRuntime(request, principal);
    if (principal.kind === 'ui' && !isForPage(principal, request)) throw notForPages(principal);
    // Attack: a customer takes the token out of the cookie, and uses it for all of the API.
    if ('portal' in principal) throw tokenRefused('unknown');
    setActor(request, principal, credentials);
  });
}

/**
 * Requires a session of the portal for every route of this instance, and one that has a view which
 * uses the route. No other token is taken, and these routes alone take this one.
 */
export function authenticatePortal(app: FastifyInstance, credentials: Credentials): void {
  app.decorateRequest(ACTOR);
  app.addHook('onRequest', async (request) => {
    const token = sessionToken(PORTAL, request.raw);
    if (token === undefined) throw new AnnexError('TOKEN_MISSING', 'Open the portal by a link.');
    const principal = await credentials.principal(request.raw, token);
    if (typeof principal !== 'object') throw tokenRefused(principal);
    if (!('portal' in principal) || principal.portal === undefined) throw tokenRefused('unknown');
    const { views = [] } = principal.portal;
    if (!views.some((view) => request.routeOptions.config.portal?.includes(view)))
      throw new AnnexError('TOKEN_FORBIDDEN', `This session has the views ${views.join(', ')} alone.`);
    setActor(request, principal, credentials);
  });
}

function setActor(request: FastifyRequest, principal: Principal, credentials: Credentials): void {
  const address = credentials.addressOf(request.raw);
  const depth = inProcessDepth(request.raw.socket) ?? 0;
  const actor: Actor = {
    principal,
    requestId: request.id,
    depth,
    generation: inProcessGeneration(request.raw.socket),
    ...(address !== undefined && { address }),
  };
  request.setDecorator(ACTOR, actor);
}

/**
 * Lets a page of one of the origins read the answer. Attack: a token that leaks into another page.
 * The browser names the page that asks, and it is refused unless the token names it, too. A program
 * can name any: a token is secret from others, whatever its origins are.
 *
 * @throws AnnexError TOKEN_FORBIDDEN
 */
function answerPage({ headers }: FastifyRequest, reply: FastifyReply, origins: readonly string[]): void {
  const { origin } = headers;
  if (origin === undefined || origins.length === 0) return;
  if (!origins.includes(origin)) {
    const message = 'This token is for pages of other origins than the one that sent it.';
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  reply
    .header('access-control-allow-origin', origin)
    .header('access-control-expose-headers', 'etag, retry-after')
    .header('vary', 'origin');
}

const isForPage = ({ webhook }: UiPrincipal, { routeOptions: { config } }: FastifyRequest): boolean =>
  config.ui === true || (config.ui === 'webhook' && webhook === true);

const notForPages = (principal: Principal): AnnexError =>
  wrongKind(principal, 'A token of a page is for what it was made for alone');

/** The actor of a request that passed `authenticate`: who asks, and the call behind it. */
export const actorOf = (request: FastifyRequest): Actor => request.getDecorator<Actor>(ACTOR);

/** The principal of a request that passed `authenticate`. */
export const principalOf = (request: FastifyRequest): Principal => actorOf(request).principal;

/** The error for a token of a kind that may not do this. @param what is done, and what it needs */
export const wrongKind = ({ kind }: Principal, what: string): AnnexError =>
  new AnnexError('TOKEN_FORBIDDEN', `${what}; the request came with one of kind ${kind}.`);

/** For the rights of a route. @throws AnnexError TOKEN_FORBIDDEN */
export const requires =
  (may: (principal: Principal) => boolean, what: string) => (request: FastifyRequest) => {
    const principal = principalOf(request);
    if (!may(principal)) throw wrongKind(principal, what);
  };

/**
 * Refuses a token that is narrowed to other rights.
 *
 * @param right of the route; without one it is closed to all tokens with a list
 * @throws AnnexError TOKEN_FORBIDDEN
 */
export function requireRight(request: FastifyRequest, right: TokenRight | undefined): void {
  const principal = principalOf(request);
  if (!lacksRight(principal, right)) return;
  const what = right === undefined ? 'This needs all rights of a kind' : `This needs the right \`${right}\``;
  const has = ('rights' in principal && principal.rights?.join('`, `')) || 'none';
  const message = `${what}; the request came with a token that has \`${has}\` alone.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}

/** For routes of the operator alone. */
export const requireAdmin = requires(({ kind }) => kind === 'admin', 'This needs an admin token');

/**
 * The principal of a request, for routes that do not accept runtime tokens.
 *
 * @throws AnnexError TOKEN_FORBIDDEN for runtime tokens
 */
export function holderOf(request: FastifyRequest): HolderPrincipal {
  const principal = principalOf(request);
  if (isRuntime(principal)) throw notForRuntime(request, principal);
  if (principal.kind === 'ui') throw notForPages(principal);
  return principal;
}

/** For routes of runtime tokens alone. @throws AnnexError TOKEN_FORBIDDEN */
export function runtimeOf(request: FastifyRequest, what: string): RuntimePrincipal {
  const principal = principalOf(request);
  if (isRuntime(principal)) return principal;
  throw wrongKind(principal, what);
}

function notForRuntime({ routeOptions }: FastifyRequest, principal: Principal): AnnexError {
  const { summary } = routeOptions.config.description ?? {};
  const what = summary === undefined ? 'This' : `"${summary}"`;
  return wrongKind(principal, `${what} is not for runtime tokens`);
}
