/**
 * `GET /v1/.well-known/jwks.json`: the public keys that verify statements to the product's API (RFC
 * 7517), without a token; and their rotation, for the operator
 * (docs/contract/api.md#the-products-api).
 */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { StatementKey, StatementKeys } from '../../../store/statement-keys.ts';
import { actorOf, requireAdmin } from '../authenticate.ts';
import { ERRORS_VIEW, isoTime, Time } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';

/** The next key is published before it signs, so a cached copy is good for long enough. */
const CACHE = 'public, max-age=300';

/** The public keys. Registered outside of what needs a token. */
export function jwksRoute(app: FastifyInstance, keys: Pick<StatementKeys, 'published'>): void {
  app.get('/v1/.well-known/jwks.json', { schema: { hide: true } }, async (_request, reply) => {
    const published = await keys.published();
    reply.header('cache-control', CACHE).type('application/jwk-set+json');
    return JSON.stringify({ keys: published.map(jwkOf) });
  });
}

const jwkOf = ({ kid, x }: StatementKey) => ({
  ...{ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' },
});

const RotateBody = Type.Optional(
  Type.Object(
    {
      forget: Type.Optional(
        Type.Boolean({ description: 'Whether all keys so far are withdrawn at once: one has leaked.' }),
      ),
    },
    { additionalProperties: false },
  ),
);

const KeysView = Type.Object(
  {
    keys: Type.Array(
      Type.Object({
        kid: Type.String(),
        state: Type.Enum(['next', 'signing', 'previous']),
        createdAt: Time,
      }),
      { description: 'Newest first.' },
    ),
  },
  { title: 'StatementKeys' },
);

export interface StatementKeysRouteParts {
  readonly statementKeys: Pick<StatementKeys, 'rotate'>;
}

export function statementKeysRoutes(parent: TypedApp, { statementKeys }: StatementKeysRouteParts): void {
  parent.register(async (app: TypedApp) => {
    app.addHook('onRequest', async (request) => requireAdmin(request));
    app.post(
      '/statement-keys/rotate',
      {
        schema: {
          summary: 'Rotate the keys of statements',
          description:
            "The next key signs statements to the product's API from now on; the one before stays published.",
          body: RotateBody,
          response: { 200: KeysView, ...ERRORS_VIEW },
        },
      },
      async (request) => {
        const { forget = false } = request.body ?? {};
        const keys = await statementKeys.rotate({ forget }, actorOf(request));
        return {
          keys: keys.map(({ kid, state, createdAt }) => ({ kid, state, createdAt: isoTime(createdAt) })),
        };
      },
    );
  });
}
