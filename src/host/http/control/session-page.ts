/**
 * A page of the control listener with sessions: the console, and the portal. Serves its document
 * and its one script, and begins and ends its sessions.
 *
 * The page has no rights of its own. It asks the API, and a cookie stands for the token: a session
 * is a token that was made from the one which signed in, ends with it, and is only ever in a cookie
 * that no script reads.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { Actor } from '../../../model/actor.ts';
import { type HolderPrincipal, type Principal, TOKEN_KINDS } from '../../../model/principal.ts';
import { builtOnce, KEPT, pageScript, prebuilt } from '../../../own-files.ts';
import type { MadeToken, Tokens } from '../../store/tokens.ts';
import { bearerToken, type Credentials } from '../credentials.ts';
import { cookieOf, isOwnPage, type SessionPage, sessionToken } from '../page-session.ts';
import { tokenRefused } from './authenticate.ts';
import type { Followers } from './following/followers.ts';

const LOCK_FILE = fileURLToPath(new URL('../../../../package-lock.json', import.meta.url));
const FOR_EVER = 'public, max-age=31536000, immutable';

const zip = promisify<string, Buffer>(gzip);

/** The script of a page. */
export async function scriptOf(name: SessionPage['name']): Promise<string> {
  const carried = prebuilt(name);
  if (carried !== undefined || KEPT === undefined) return carried ?? '';
  const entry = fileURLToPath(new URL(`../../../../packages/${name}/src/${name}.tsx`, import.meta.url));
  return builtOnce(join(KEPT, `${name}.json`), (files) => {
    files.add(LOCK_FILE);
    return pageScript(entry, files);
  });
}

const documentWith = ({ name }: SessionPage, title: string, script: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<script type="module" src="/${name}/${script}"></script>
</head>
<body></body>
</html>
`;

/**
 * Attack: a title, a log line or a payload of a tenant that is markup. Nothing runs but the one
 * script, which cannot make markup of text; nothing is loaded from elsewhere but what is named.
 *
 * @param frames origins whose pages may frame it. Attack: click-jacking by any other
 */
const headersOf = ({ images, frames }: PageParts) => ({
  'content-security-policy': [
    ...["default-src 'none'", "script-src 'self'", "connect-src 'self'"],
    ...[['img-src', "'self'", 'data:', ...images()].join(' '), "base-uri 'none'", "form-action 'none'"],
    ['frame-ancestors', ...(frames.length === 0 ? ["'none'"] : frames)].join(' '),
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
});

interface PageParts {
  readonly page: SessionPage;
  readonly title: string;
  /** Origins of images, beside its own; asked for when the listeners have their addresses. */
  readonly images: () => readonly string[];
  /** Origins whose pages may frame it. */
  readonly frames: readonly string[];
  /** What the page is told of a session. */
  readonly viewOf: (holder: Omit<HolderPrincipal, 'tokenId'>) => object;
  /** Whether a token signs in to it, and is one of its sessions. */
  readonly isFor: (holder: HolderPrincipal) => boolean;
  /** @returns undefined for a link that another one has used meanwhile */
  readonly open: (signedIn: HolderPrincipal, by: Actor) => Promise<MadeToken | undefined>;
}

export interface SessionPageDeps {
  readonly credentials: Pick<Credentials, 'principal' | 'addressOf'>;
  readonly tokens: Pick<Tokens, 'revoke'>;
  readonly followers: Pick<Followers, 'check'>;
}

export function sessionPageRoutes(app: FastifyInstance, parts: PageParts, deps: SessionPageDeps): void {
  const { page, title } = parts;
  // Built when it is first asked for.
  let made: Promise<{ name: string; script: string; zipped: Buffer }> | undefined;
  const read = () => {
    made ??= scriptOf(page.name).then(async (script) => {
      const digest = createHash('sha256').update(script).digest('base64url').slice(0, 16);
      return { name: `${digest}.js`, script, zipped: await zip(script) };
    });
    made.catch(() => {
      made = undefined;
    });
    return made;
  };
  app.get(`/${page.name}`, (_request, reply) => reply.redirect(`/${page.name}/`, 308));
  app.get<{ Params: { '*': string } }>(`/${page.name}/*`, async (request, reply) => {
    const { name, script, zipped } = await read();
    reply.headers(headersOf(parts));
    if (request.params['*'] === name) {
      reply.headers({ 'cache-control': FOR_EVER, vary: 'accept-encoding' });
      reply.type('text/javascript; charset=utf-8');
      const takesZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
      return takesZipped ? reply.header('content-encoding', 'gzip').send(zipped) : reply.send(script);
    }
    // Every other path is a place in the page, which finds out whether it is one.
    return reply.type('text/html; charset=utf-8').send(documentWith(page, title, name));
  });
  sessionRoutes(app, parts, deps);
}

/** The session of the page: who it is, and its beginning and end. */
function sessionRoutes(app: FastifyInstance, parts: PageParts, deps: SessionPageDeps): void {
  const { page, viewOf, isFor, open } = parts;
  const { credentials, tokens, followers } = deps;
  const path = `/${page.name}/session`;
  const isOwn = (principal: Principal): principal is HolderPrincipal =>
    isHolder(principal) && isFor(principal);
  app.get(path, async (request) => {
    const token = sessionToken(page, request.raw);
    // Nobody, or a session that has ended, is no fault of the page's.
    const principal = token && (await credentials.principal(request.raw, token));
    return typeof principal === 'object' && isOwn(principal) ? viewOf(principal) : {};
  });
  app.post(path, async (request, reply) => {
    // Attack: a page of another origin that signs its visitor in, as somebody else.
    if (!isOwnPage(page, request.raw)) {
      const message = `Only the page of the ${page.name} signs in: it sends "${page.header}: 1".`;
      throw new AnnexError('TOKEN_MISSING', message);
    }
    const token = bearerToken(request.raw);
    if (token === undefined) throw new AnnexError('TOKEN_MISSING', 'Sign in with a token.');
    const signedIn = await credentials.principal(request.raw, token);
    if (typeof signedIn !== 'object') throw tokenRefused(signedIn);
    if (!isOwn(signedIn)) throw tokenRefused('unknown');
    const address = credentials.addressOf(request.raw);
    const by = { principal: signedIn, requestId: request.id, depth: 0, ...(address && { address }) };
    const session = await open(signedIn, by);
    // A link that another one has used meanwhile.
    if (session === undefined) throw tokenRefused('unknown');
    reply.header('set-cookie', cookieOf(page, session.token, request.raw));
    return viewOf(session);
  });
  app.delete(path, async (request, reply) => {
    const token = sessionToken(page, request.raw);
    const principal = token && (await credentials.principal(request.raw, token));
    if (typeof principal === 'object' && isOwn(principal))
      await tokens.revoke(principal.tokenId, { principal, requestId: request.id, depth: 0 });
    // Streams of the session end.
    followers.check();
    reply.header('set-cookie', cookieOf(page, undefined, request.raw));
    return reply.code(204).send();
  });
}

/** Whether its token is stored: no code of an integration, and no page with a UI token. */
const isHolder = (principal: Principal): principal is HolderPrincipal =>
  TOKEN_KINDS.some((kind) => kind === principal.kind);
