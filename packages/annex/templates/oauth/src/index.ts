import {
  createIntegration,
  createOAuthHandler,
  type Environment,
  endpointPath,
  endpointURL,
  getOAuthToken,
  type OAuthConfig,
} from '@annex/sdk';

const at =
  (path: string) =>
  (_: unknown, { secrets }: Environment) =>
    `${secrets['OAUTH_ISSUER']}${path}`;

/** For any provider of OpenID Connect with these paths: look at those of yours. */
const provider: OAuthConfig = {
  clientId: (_, { secrets }) => secrets['CLIENT_ID'],
  clientSecret: (_, { secrets }) => secrets['CLIENT_SECRET'],
  authorizeURL: at('/auth'),
  accessTokenURL: at('/token'),
  scopes: ['openid', 'offline_access'],
  // Without it, providers issue no refresh token to an account that has consented before.
  prompt: 'consent',
};

const connect = createOAuthHandler(provider);

export default createIntegration({
  async fetch(request, context) {
    const { environment } = context;
    switch (endpointPath(environment, request.url)) {
      case '/oauth':
        // Sends the user to the provider, and keeps the credentials when the user returns.
        return connect(request, context);
      case '/me': {
        const token = await getOAuthToken(provider, context);
        const answer = await fetch(`${environment.secrets['OAUTH_ISSUER']}/me`, {
          headers: { authorization: `Bearer ${token}` },
        });
        if (!answer.ok) return new Response('The provider knows no such account.', { status: 502 });
        const { sub } = (await answer.json()) as { sub: string };
        return new Response(`Hello, ${sub}!`);
      }
      default:
        return Response.redirect(endpointURL(environment, '/me'));
    }
  },
});
