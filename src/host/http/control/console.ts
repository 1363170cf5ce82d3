/**
 * The console: the page of the control listener for operators, authors and the product's engineers,
 * and its sessions (docs/contract/console.md).
 *
 * The page has no rights of its own. It asks the API, and a cookie stands for the token: a session
 * is a token that was made from the one which signed in, ends with it, and is only ever in a cookie
 * that no script reads. A link signs in once.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import { type HolderPrincipal, type Principal, TOKEN_KINDS } from '../../../model/principal.ts';
import { builtOnce, KEPT, pageScript, prebuilt } from '../../../own-files.ts';
import type { Tokens } from '../../store/tokens.ts';
import { cookieOf, isOwnPage, sessionToken } from '../console-cookie.ts';
import { bearerToken, type Credentials } from '../credentials.ts';
import { tokenRefused } from './authenticate.ts';
import type { Followers } from './following/followers.ts';

const ENTRY = fileURLToPath(new URL('../../../../packages/console/src/console.tsx', import.meta.url));
const LOCK_FILE = fileURLToPath(new URL('../../../../package-lock.json', import.meta.url));

const SESSION_MS = 12 * 3_600_000;

/**
 * Attack: a title, a log line or a payload of a tenant that is markup. Nothing runs but the one
 * script, which cannot make markup of text; nothing is loaded from elsewhere; no page frames it.
 */
const PAGE_HEADERS = {
  'content-security-policy': [
    ...["default-src 'none'", "script-src 'self'", "connect-src 'self'", "img-src 'self' data:"],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};
const FOR_EVER = 'public, max-age=31536000, immutable';

/** The script of the page. */
export async function consoleScript(): Promise<string> {
  const carried = prebuilt('console');
  if (carried !== undefined || KEPT === undefined) return carried ?? '';
  return builtOnce(join(KEPT, 'console.json'), (files) => {
    files.add(LOCK_FILE);
    return pageScript(ENTRY, files);
  });
}

const documentWith = (script: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Annex</title>
<link rel="icon" href="data:,">
<script type="module" src="/console/${script}"></script>
</head>
<body></body>
</html>
`;

export interface ConsoleDeps {
  readonly credentials: Pick<Credentials, 'principal' | 'addressOf'>;
  readonly tokens: Pick<Tokens, 'openSession' | 'revoke'>;
  readonly followers: Pick<Followers, 'check'>;
}

export function consoleRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  // Built when it is first asked for.
  let page: Promise<{ name: string; script: string }> | undefined;
  const read = () => {
    page ??= consoleScript().then((script) => {
      const digest = createHash('sha256').update(script).digest('base64url').slice(0, 16);
      return { name: `${digest}.js`, script };
    });
    page.catch(() => {
      page = undefined;
    });
    return page;
  };
  app.get('/console', (_request, reply) => reply.redirect('/console/', 308));
  app.get<{ Params: { '*': string } }>('/console/*', async (request, reply) => {
    const { name, script } = await read();
    reply.headers(PAGE_HEADERS);
    if (request.params['*'] === name)
      return reply.header('cache-control', FOR_EVER).type('text/javascript; charset=utf-8').send(script);
    // Every other path is a place in the page, which finds out whether it is one.
    return reply.type('text/html; charset=utf-8').send(documentWith(name));
  });
  sessionRoutes(app, deps);
}

/** The session of the page: who it is, and its beginning and end. */
function sessionRoutes(app: FastifyInstance, { credentials, tokens, followers }: ConsoleDeps): void {
  app.get('/console/session', async (request) => {
    const token = sessionToken(request.raw);
    // Nobody, or a session that has ended, is no fault of the page's.
    const principal = token && (await credentials.principal(request.raw, token));
    return typeof principal === 'object' && isHolder(principal) ? viewOf(principal) : {};
  });
  app.post('/console/session', async (request, reply) => {
    ownPage(request.raw);
    const token = bearerToken(request.raw);
    if (token === undefined) throw new AnnexError('TOKEN_MISSING', 'Sign in with a token.');
    const signedIn = await credentials.principal(request.raw, token);
    if (typeof signedIn !== 'object') throw tokenRefused(signedIn);
    if (!isHolder(signedIn)) throw tokenRefused('unknown');
    const address = credentials.addressOf(request.raw);
    const by = { principal: signedIn, requestId: request.id, depth: 0, ...(address && { address }) };
    const session = await tokens.openSession(signedIn, SESSION_MS, by);
    // A link that another one has used meanwhile.
    if (session === undefined) throw tokenRefused('unknown');
    reply.header('set-cookie', cookieOf(session.token, request.raw));
    return viewOf(session);
  });
  app.delete('/console/session', async (request, reply) => {
    const token = sessionToken(request.raw);
    const principal = token && (await credentials.principal(request.raw, token));
    if (typeof principal === 'object' && isHolder(principal))
      await tokens.revoke(principal.tokenId, { principal, requestId: request.id, depth: 0 });
    // Streams of the session end.
    followers.check();
    reply.header('set-cookie', cookieOf(undefined, request.raw));
    return reply.code(204).send();
  });
}

/** Whether its token is stored: no code of an integration, and no page with a UI token. */
const isHolder = (principal: Principal): principal is HolderPrincipal =>
  TOKEN_KINDS.some((kind) => kind === principal.kind);

const viewOf = ({ kind, organization }: Pick<HolderPrincipal, 'kind' | 'organization'>) => ({
  kind,
  organization,
});

/** Attack: a page of another origin that signs its visitor in, as somebody else. */
function ownPage(request: IncomingMessage): void {
  if (isOwnPage(request)) return;
  throw new AnnexError(
    'TOKEN_MISSING',
    'Only the page of the console signs in: it sends "Annex-Console: 1".',
  );
}
