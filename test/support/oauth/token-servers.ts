/**
 * Token endpoints of fifteen providers, as their documentation describes them: how the client
 * authenticates, and the answers to a code, a renewal, a refused renewal and a second consent. One
 * server on a loopback port serves all of them, each below a path of its own.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer: an object is sent as JSON, a text as a form. */
export interface TokenReply {
  readonly status?: number;
  readonly type?: string;
  readonly body: object | string;
}

export interface ProviderAnswers {
  /** `basic`: refuses a secret in the form, with `unauthenticated`. `form`: refuses Basic. */
  readonly auth: 'form' | 'basic' | 'any';
  readonly unauthenticated?: TokenReply;
  /** Path of renewals, where they have one of their own. */
  readonly refreshPath?: string;
  readonly connected: TokenReply;
  readonly renewed: TokenReply;
  readonly refused: TokenReply;
  /** The answer to the code of a second consent. */
  readonly again: TokenReply;
}

const json = (body: object, status = 200): TokenReply => ({ status, body });
const invalidGrant = (description: string, status = 400) =>
  json({ error: 'invalid_grant', error_description: description }, status);
const bearer = (expires_in: number | string, more: object) => ({ token_type: 'Bearer', expires_in, ...more });

/** Answers of a provider that rotates its refresh tokens. */
const rotating = (members: object) => ({
  connected: json({ ...members, access_token: 'a1', refresh_token: 'r1' }),
  renewed: json({ ...members, access_token: 'a2', refresh_token: 'r2' }),
  again: json({ ...members, access_token: 'a3', refresh_token: 'r3' }),
});

const slack = {
  ...{ ok: true, token_type: 'bot', scope: 'commands', bot_user_id: 'U0', app_id: 'A0', expires_in: 43_200 },
  ...{ team: { id: 'T0', name: 'acme' }, enterprise: null, authed_user: { id: 'U1' } },
};
const notion = {
  ...{ token_type: 'bearer', bot_id: 'b0', workspace_id: 'w0', workspace_name: 'Acme', workspace_icon: null },
  ...{ owner: { type: 'user', user: { object: 'user', id: 'u0' } }, duplicated_template_id: null },
};
const salesforce = {
  ...{
    signature: 's',
    scope: 'api refresh_token',
    instance_url: 'https://acme.my.example',
    token_type: 'Bearer',
  },
  ...{ id: 'https://login.example/id/00D/005', issued_at: '1278448384422' },
};
const figma = { user_id_string: '12', token_type: 'bearer', expires_in: 7_776_000 };
const dropbox = {
  token_type: 'bearer',
  expires_in: 14_400,
  scope: 'files.read',
  account_id: 'dbid:0',
  uid: '1',
};
const githubForm = (token: number) =>
  `access_token=ghu_a${token}&expires_in=28800&refresh_token=ghr_r${token}&refresh_token_expires_in=15897600&scope=&token_type=bearer`;

export const PROVIDERS = {
  google: {
    auth: 'any',
    connected: json(bearer(3_599, { access_token: 'a1', refresh_token: 'r1', scope: 'openid' })),
    renewed: json(bearer(3_599, { access_token: 'a2', scope: 'openid' })),
    refused: invalidGrant('Token has been expired or revoked.'),
    // A refresh token comes with the first consent only, unless `prompt=consent` is sent.
    again: json(bearer(3_599, { access_token: 'a3', scope: 'openid' })),
  },
  microsoft: {
    auth: 'any',
    ...rotating(bearer('3599', { scope: 'User.Read', ext_expires_in: 3_599 })),
    refused: json(
      {
        ...{ error: 'invalid_grant', error_description: 'AADSTS70008: expired', error_codes: [70_008] },
        ...{ timestamp: '2016-01-09 02:02:12Z', trace_id: 't', correlation_id: 'c' },
      },
      400,
    ),
  },
  github: {
    auth: 'any',
    connected: { body: githubForm(1) },
    renewed: { body: githubForm(2) },
    refused: {
      body: 'error=bad_refresh_token&error_description=The+refresh+token+passed+is+incorrect+or+expired.',
    },
    again: { body: githubForm(3) },
  },
  gitlab: {
    auth: 'any',
    ...rotating(bearer(7_200, { created_at: 1_607_635_748 })),
    refused: invalidGrant('The provided authorization grant is invalid, expired or revoked.'),
  },
  slack: {
    auth: 'any',
    ...rotating(slack),
    refused: json({ ok: false, error: 'invalid_refresh_token' }),
  },
  notion: {
    auth: 'basic',
    unauthenticated: json({ error: 'invalid_client' }, 401),
    ...rotating(notion),
    refused: invalidGrant('Invalid refresh token.'),
  },
  hubspot: {
    auth: 'form',
    ...rotating(bearer(1_800, {})),
    refused: json(
      {
        ...{ status: 'BAD_REFRESH_TOKEN', message: 'missing or unknown refresh token', correlationId: 'c' },
      },
      400,
    ),
  },
  salesforce: {
    auth: 'any',
    connected: json({ ...salesforce, access_token: 'a1', refresh_token: 'r1' }),
    renewed: json({ ...salesforce, access_token: 'a2' }),
    refused: invalidGrant('expired access/refresh token'),
    again: json({ ...salesforce, access_token: 'a3', refresh_token: 'r3' }),
  },
  atlassian: {
    auth: 'form',
    ...rotating({ expires_in: 3_600, scope: 'read:jira-work offline_access' }),
    refused: json(
      {
        ...{ error: 'unauthorized_client', error_description: 'refresh_token is invalid' },
      },
      403,
    ),
  },
  linear: {
    auth: 'any',
    ...rotating(bearer(86_399, { scope: 'read write' })),
    refused: invalidGrant('Invalid refresh token'),
  },
  figma: {
    auth: 'basic',
    unauthenticated: json({ error: true, status: 401, message: 'Unauthorized' }, 401),
    refreshPath: '/refresh',
    connected: json({ ...figma, access_token: 'a1', refresh_token: 'r1' }),
    renewed: json({ token_type: 'bearer', access_token: 'a2', expires_in: 7_776_000 }),
    refused: json({ error: true, status: 400, message: 'Invalid refresh token' }, 400),
    again: json({ ...figma, access_token: 'a3', refresh_token: 'r3' }),
  },
  zoom: {
    auth: 'basic',
    unauthenticated: json({ reason: 'Invalid client_id or client_secret', error: 'invalid_client' }, 400),
    ...rotating({ token_type: 'bearer', expires_in: 3_599, scope: 'user:read' }),
    refused: json({ reason: 'Invalid Token!', error: 'invalid_grant' }, 401),
  },
  dropbox: {
    auth: 'any',
    connected: json({ ...dropbox, access_token: 'sl.a1', refresh_token: 'r1' }),
    renewed: json({ token_type: 'bearer', expires_in: 14_400, access_token: 'sl.a2' }),
    refused: invalidGrant('refresh token is invalid or revoked'),
    // Without `token_access_type=offline`.
    again: json({ ...dropbox, access_token: 'sl.a3' }),
  },
  shopify: {
    auth: 'form',
    ...rotating({ expires_in: 3_600, refresh_token_expires_in: 7_776_000, scope: 'read_products' }),
    refused: invalidGrant('This refresh token is not active.'),
  },
  x: {
    auth: 'basic',
    unauthenticated: json(
      {
        ...{ error: 'unauthorized_client', error_description: 'Missing valid authorization header' },
      },
      401,
    ),
    ...rotating({ token_type: 'bearer', expires_in: 7_200, scope: 'tweet.read offline.access' }),
    refused: json(
      {
        ...{ error: 'invalid_request', error_description: 'Value passed for the token was invalid.' },
      },
      400,
    ),
  },
} as const satisfies Readonly<Record<string, ProviderAnswers>>;

export type ProviderName = keyof typeof PROVIDERS;

/** Characters that the encodings of a client's secret differ in. */
export const SECRET = 'a secret: 50 % + ü/=';

/** One request to a token endpoint. */
export interface TokenRequest {
  readonly path: string;
  readonly auth: 'form' | 'basic';
  readonly form: Readonly<Record<string, string>>;
}

export interface TokenServers {
  readonly origin: string;
  /** `host:port`, as for `--egress-allow`. */
  readonly address: string;
  readonly requests: TokenRequest[];
  /** Answers all requests with a known client. */
  answer: (request: TokenRequest) => TokenReply;
  /** Answers requests whose client is not authenticated; undefined where it is. */
  unauthenticated: (request: TokenRequest) => TokenReply | undefined;
  stop(): Promise<void>;
}

/** Starts the server. It refuses a secret that is not `SECRET`. */
export async function startTokenServers(): Promise<TokenServers> {
  const server = createServer(async (request, response) => {
    const asked = await read(request);
    servers.requests.push(asked);
    const secret = asked.form['client_secret'];
    const refusal = secret === SECRET ? servers.unauthenticated(asked) : json({ error: 'bad secret' }, 418);
    const { status = 200, body, type } = refusal ?? servers.answer(asked);
    const usual =
      typeof body === 'string' ? 'application/x-www-form-urlencoded; charset=utf-8' : 'application/json';
    response.writeHead(status, { 'content-type': type ?? usual });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const servers: TokenServers = {
    origin: `http://${address}`,
    address,
    requests: [],
    answer: () => json({ error: 'unset' }, 500),
    unauthenticated: () => undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return servers;
}

/** Reads a request. Credentials of Basic are put where those of a form are (RFC 6749, 2.3.1). */
async function read(request: IncomingMessage): Promise<TokenRequest> {
  let text = '';
  for await (const chunk of request) text += chunk;
  const form = Object.fromEntries(new URLSearchParams(text));
  const [, basic] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (basic === undefined) return { path: request.url ?? '', auth: 'form', form };
  if ('client_secret' in form) throw new Error('The client authenticated in two ways.');
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString('latin1').split(':');
  const client = new URLSearchParams(`client_id=${id}&client_secret=${secret}`);
  return { path: request.url ?? '', auth: 'basic', form: { ...form, ...Object.fromEntries(client) } };
}
