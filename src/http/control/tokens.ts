/**
 * `/v1/tokens`: create, list and revoke tokens (docs/contract/api.md#tokens). For the operator. A
 * token is shown once, when it is created.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { BUILT_IN_ORGANIZATION } from '../../model/identifiers.ts';
import { TOKEN_KINDS } from '../../model/principal.ts';
import type { TokenGrant, TokenRecord, Tokens } from '../../store/tokens.ts';
import { actorOf, requireAdmin } from './authenticate.ts';
import type { Followers } from './following/followers.ts';
import {
  ERRORS_VIEW,
  isoTime,
  Name,
  Organization,
  PageOf,
  PageQuery,
  pageAnswer,
  pageRequest,
  Time,
} from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const TOKEN = {
  id: Type.String(),
  kind: Type.Enum([...TOKEN_KINDS]),
  organization: Type.Optional(Type.String()),
  createdAt: Time,
};
const TokenView = Type.Object(TOKEN, { title: 'Token' });
const NewTokenView = Type.Object(
  {
    ...TOKEN,
    token: Type.String({ description: 'Shown here and never again.' }),
  },
  { title: 'NewToken' },
);

const TokenBody = Type.Object(
  { kind: Type.Enum([...TOKEN_KINDS]), organization: Type.Optional(Organization) },
  { title: 'TokenToCreate', additionalProperties: false },
);

export interface TokensRouteParts {
  readonly tokens: Pick<Tokens, 'create' | 'list' | 'revoke'>;
  /** Streams with a revoked token end. */
  readonly followers: Pick<Followers, 'check'>;
}

export function tokensRoutes(parent: TypedApp, { tokens, followers }: TokensRouteParts): void {
  parent.register(async (app: TypedApp) => {
    app.addHook('onRequest', async (request) => requireAdmin(request));
    app.post(
      '/tokens',
      {
        schema: {
          summary: 'Create a token',
          body: TokenBody,
          response: { 201: NewTokenView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { token, ...record } = await tokens.create(grantOf(request.body), actorOf(request));
        return reply.code(201).send({ ...tokenView(record), token });
      },
    );
    app.get(
      '/tokens',
      {
        schema: {
          summary: 'List tokens',
          querystring: PageQuery,
          response: { 200: PageOf(TokenView), ...ERRORS_VIEW },
        },
      },
      async (request) => pageAnswer(await tokens.list(pageRequest(request.query)), tokenView),
    );
    app.delete(
      '/tokens/:id',
      {
        schema: {
          summary: 'Revoke a token',
          params: Type.Object({ id: Name }),
          response: { 204: Type.Null(), ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        if (!(await tokens.revoke(id, actorOf(request))))
          throw new AnnexError('TOKEN_UNKNOWN', `There is no token "${id}".`);
        followers.check();
        return reply.code(204).send(null);
      },
    );
  });
}

function grantOf({ kind, organization }: Type.Static<typeof TokenBody>): TokenGrant {
  // Attack: a token of the organization that owns the built-in integrations, and with them controls
  // their installations in every organization.
  if (organization === BUILT_IN_ORGANIZATION) {
    const why = 'owns the built-in integrations: tokens cannot be created for it.';
    throw new AnnexError('REQUEST_INVALID', `body.organization "${organization}" ${why}`);
  }
  if (kind === 'organization' && organization !== undefined) return { kind, organization };
  if (kind !== 'organization' && organization === undefined) return { kind };
  const message =
    kind === 'organization'
      ? 'body.organization is missing: a token of kind organization needs one.'
      : `body.organization must be left out for a token of kind ${kind}.`;
  throw new AnnexError('REQUEST_INVALID', message);
}

const tokenView = ({ createdAt, ...rest }: TokenRecord) => ({ ...rest, createdAt: isoTime(createdAt) });
