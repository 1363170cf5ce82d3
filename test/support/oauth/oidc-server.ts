/**
 * An OAuth provider for tests: `oidc-provider`, a certified OpenID provider, on a loopback port. It
 * requires PKCE, issues a new refresh token at each renewal, and ends the whole grant if an old one
 * is used again.
 *
 * Users sign in on its development pages: any name, then consent. `Browser` submits them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT = { id: 'annex-test', secret: 'a secret of the client, long enough' } as const;

/** A first access token that has expired when it arrives; a renewed one lasts. */
const FIRST_TOKEN_SECONDS = 1;
const RENEWED_TOKEN_SECONDS = 3_600;

interface GrantContext {
  readonly oidc: { readonly params?: { readonly grant_type?: string } };
}

export interface OidcServer {
  readonly issuer: string;
  /** `host:port`, as for `--egress-allow`. */
  readonly address: string;
  /**
   * Grant types of the requests to the token endpoint, in order; refused ones have the prefix
   * `refused:`.
   */
  readonly grants: string[];
  /** Replaces the provider for requests to the token endpoint. */
  answerTokens: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Registers one client with these redirect URLs. */
  knows(redirectURIs: readonly string[]): void;
  stop(): Promise<void>;
}

export async function startOidcServer(): Promise<OidcServer> {
  let handle: ReturnType<Provider['callback']> | undefined;
  const server = createServer((request, response) => {
    const own = request.url === '/token' ? oidc.answerTokens : undefined;
    (own ?? handle)?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `http://${address}`;
  const grants: string[] = [];
  const grantOf = (context: unknown) => (context as GrantContext).oidc.params?.grant_type ?? 'none';
  const oidc: OidcServer = {
    issuer,
    address,
    grants,
    answerTokens: undefined,
    knows(redirectURIs) {
      const provider = new Provider(issuer, configuration(redirectURIs));
      provider.on('grant.success', (context) => grants.push(grantOf(context)));
      provider.on('grant.error', (context) => grants.push(`refused:${grantOf(context)}`));
      handle = provider.callback();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return oidc;
}

const configuration = (redirectURIs: readonly string[]) => ({
  clients: [
    {
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: [...redirectURIs],
    },
  ],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  features: { devInteractions: { enabled: true }, clientCredentials: { enabled: true } },
  cookies: { keys: ['a key of the test'] },
  ttl: {
    AccessToken: (context: GrantContext) =>
      context.oidc.params?.grant_type === 'refresh_token' ? RENEWED_TOKEN_SECONDS : FIRST_TOKEN_SECONDS,
    ClientCredentials: RENEWED_TOKEN_SECONDS,
    RefreshToken: RENEWED_TOKEN_SECONDS,
    Grant: RENEWED_TOKEN_SECONDS,
    Session: RENEWED_TOKEN_SECONDS,
    Interaction: RENEWED_TOKEN_SECONDS,
    IdToken: RENEWED_TOKEN_SECONDS,
  },
});
