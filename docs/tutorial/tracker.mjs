/**
 * The tracker of the tutorial: a service that keeps a list of chores, with accounts that are
 * connected by OAuth. It stands in for the services that integrations usually connect to, so that
 * the tutorial needs no account anywhere. It keeps its list in memory, and is not an example of
 * an OAuth server: each visitor is the owner of the one account.
 *
 *   node tracker.mjs [port]
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

const CLIENT = { id: 'workshop', secret: 'workshop-secret' };
const TOKEN_SECONDS = 3_600;
const port = Number(process.argv[2] ?? 4000);

const chores = new Map([
  ['plants', { title: 'Water the plants', isDone: false }],
  ['mail', { title: 'Answer the mail of Grace', isDone: false }],
]);
/** Code → the challenge that it was made for. A code is good once. */
const codes = new Map();
const tokens = new Set();
const refreshTokens = new Set();

const random = () => randomBytes(24).toString('base64url');
const escaped = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const routes = {
  /** The page on which the owner of the account allows access. */
  'GET /authorize': ({ query }) => {
    const back = new URL(query.get('redirect_uri') ?? '');
    if (query.get('client_id') !== CLIENT.id || query.get('code_challenge_method') !== 'S256')
      return [400, 'Unknown client, or no PKCE.'];
    const code = random();
    codes.set(code, query.get('code_challenge'));
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    const page = `<!doctype html><title>Tracker</title><p>May "chores" see and change your chores?</p>
<a href="${escaped(back.href)}">Allow</a>`;
    return [200, page, 'text/html; charset=utf-8'];
  },

  'POST /token': ({ form }) => {
    if (form.get('client_id') !== CLIENT.id || form.get('client_secret') !== CLIENT.secret)
      return [401, { error: 'invalid_client' }];
    if (!isGranted(form)) return [400, { error: 'invalid_grant' }];
    const [access_token, refresh_token] = [random(), random()];
    tokens.add(access_token);
    refreshTokens.add(refresh_token);
    return [200, { access_token, refresh_token, token_type: 'Bearer', expires_in: TOKEN_SECONDS }];
  },

  'GET /chores': () => [
    200,
    [...chores].flatMap(([id, { title, isDone }]) => (isDone ? [] : [{ id, title }])),
  ],

  /** Adds a chore. A second one with the same id changes nothing. */
  'PUT /chores/:id': ({ id, body }) => {
    if (!chores.has(id)) chores.set(id, { title: String(JSON.parse(body).title), isDone: false });
    return [200, { id }];
  },

  'POST /chores/:id/done': ({ id }) => {
    const chore = chores.get(id);
    if (chore === undefined) return [404, { error: 'no such chore' }];
    chore.isDone = true;
    return [200, { id }];
  },
};

function isGranted(form) {
  if (form.get('grant_type') === 'refresh_token') return refreshTokens.delete(form.get('refresh_token'));
  const challenge = codes.get(form.get('code'));
  codes.delete(form.get('code'));
  const verifier = form.get('code_verifier') ?? '';
  return challenge !== undefined && challenge === createHash('sha256').update(verifier).digest('base64url');
}

async function answerTo(request) {
  const url = new URL(request.url, `http://${request.headers.host}`);
  const [, first = '', id = '', last] = url.pathname.split('/');
  const path = first === 'chores' && id !== '' ? `/chores/:id${last ? `/${last}` : ''}` : url.pathname;
  const route = routes[`${request.method} ${path}`];
  if (route === undefined) return [404, { error: 'no such page' }];
  const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ');
  if (first === 'chores' && !(scheme === 'Bearer' && tokens.has(token)))
    return [401, { error: 'no account' }];
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return route({ id, body, query: url.searchParams, form: new URLSearchParams(body) });
}

const server = createServer(async (request, response) => {
  const [status, body, type = 'application/json'] = await answerTo(request).catch((cause) => [
    400,
    { error: cause.message },
  ]);
  console.log(`${request.method} ${request.url.split('?')[0]} ${status}`);
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
});
server.listen(port, '127.0.0.1', () => {
  console.log(`tracker on http://127.0.0.1:${server.address().port}`);
});
