/**
 * `/v1/tokens/introspect`: what a runtime token represents, similar to RFC 7662
 * (docs/contract/api.md#introspection).
 *
 * The API that integrations call may be the host product's own. It then receives runtime tokens,
 * and asks here for their target and the manifest's scopes. Stored tokens are answered as unknown.
 * Attack: finding out the kind of a stolen token.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { mayIntrospect } from '../../model/principal.ts';
import { RUNTIME_TOKEN_CHARS_MAX } from '../../model/runtime-token-format.ts';
import type { RuntimeGrant, RuntimeTokens } from '../../targets/runtime-tokens.ts';
import { principalOf } from './authenticate.ts';
import { placeView } from './installations/target-paths.ts';
import { ERRORS_VIEW, isoTime, Time } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const IntrospectionBody = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: RUNTIME_TOKEN_CHARS_MAX }) },
  { title: 'TokenToIntrospect', additionalProperties: false },
);

const IntrospectionView = Type.Object(
  {
    active: Type.Boolean({ description: 'The other members are present if this is true.' }),
    kind: Type.Optional(Type.Enum(['integration', 'installation'])),
    integration: Type.Optional(Type.String({ description: 'Its name.' })),
    installation: Type.Optional(Type.String({ description: 'Its id.' })),
    organization: Type.Optional(Type.String({ description: 'The organization that installed.' })),
    space: Type.Optional(Type.String({ description: 'The space of the call that the token was made for.' })),
    site: Type.Optional(Type.String({ description: 'The site of the call that the token was made for.' })),
    scopes: Type.Optional(Type.Array(Type.String(), { description: 'Of the version that runs.' })),
    expiresAt: Type.Optional(Time),
  },
  { title: 'Introspection' },
);

export interface IntrospectionRouteParts {
  readonly runtimeTokens: Pick<RuntimeTokens, 'read' | 'grant'>;
}

export function introspectionRoutes(parent: TypedApp, { runtimeTokens }: IntrospectionRouteParts): void {
  parent.register(async (app: TypedApp) => {
    app.addHook('onRequest', async (request) => {
      const principal = principalOf(request);
      if (mayIntrospect(principal)) return;
      const message = `This needs a platform token; the request came with one of kind ${principal.kind}.`;
      throw new AnnexError('TOKEN_FORBIDDEN', message);
    });
    app.post(
      '/tokens/introspect',
      {
        schema: {
          summary: 'Introspect a runtime token',
          description:
            'A token that is forged, expired, or of something deleted is answered with `{"active": false}`.',
          body: IntrospectionBody,
          response: { 200: IntrospectionView, ...ERRORS_VIEW },
        },
      },
      async (request) => {
        const read = runtimeTokens.read(request.body.token);
        const grant = read && !read.isExpired ? await runtimeTokens.grant(read.claims) : undefined;
        return grant === undefined ? { active: false } : grantView(grant);
      },
    );
  });
}

function grantView({ claims, organization }: RuntimeGrant) {
  const { kind, integration, scopes, expiresAt } = claims;
  const common = {
    active: true,
    kind,
    integration,
    scopes: [...scopes],
    expiresAt: isoTime(expiresAt * 1_000),
  };
  if (claims.kind === 'integration') return common;
  return {
    ...common,
    installation: claims.target.installationId,
    ...(organization !== undefined && { organization }),
    ...placeView(claims.target),
  };
}
