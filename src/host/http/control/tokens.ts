/**
 * `/v1/tokens`: create, list and revoke tokens (docs/contract/api.md#tokens), for the operator. A
 * token is shown once, when it is created.
 *
 * `/v1/tokens/introspect`: what a runtime token represents, similar to RFC 7662
 * (docs/contract/api.md#introspection). The API that integrations call may be the host product's
 * own. It then receives runtime tokens, and asks here for their target and the manifest's scopes.
 * Stored tokens are answered as unknown. Attack: finding out the kind of a stolen token.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { BUILT_IN_ORGANIZATION } from '../../../model/identifiers.ts';
import { mayIntrospect, TOKEN_KINDS } from '../../../model/principal.ts';
import { RUNTIME_TOKEN_CHARS_MAX } from '../../../model/runtime-token-format.ts';
import type { TokenGrant, TokenRecord } from '../../store/tokens.ts';
import type { RuntimeGrant } from '../../targets/runtime-tokens.ts';
import { actorOf, requireAdmin, requires } from './authenticate.ts';
import { placeView } from './installations/targets.ts';
import { PageOf, PageQuery, pageAnswer, pageRequest } from './lists.ts';
import { route } from './route.ts';
import { closed, isoTime, Name, named, Organization, optional, Time } from './schemas.ts';

const TOKEN = {
  id: Type.String(),
  kind: Type.Enum([...TOKEN_KINDS]),
  organization: Type.Optional(Type.String()),
  createdAt: Time,
};
const TokenView = named('Token', TOKEN);
const NewTokenView = named('NewToken', {
  ...TOKEN,
  token: Type.String({ description: 'Shown here and never again.' }),
});

const TokenBody = closed('TokenToCreate', {
  kind: Type.Enum([...TOKEN_KINDS]),
  organization: Type.Optional(Organization),
});

const IntrospectionBody = closed('TokenToIntrospect', {
  token: Type.String({ minLength: 1, maxLength: RUNTIME_TOKEN_CHARS_MAX }),
});

const IntrospectionView = named('Introspection', {
  active: Type.Boolean({ description: 'The other members are present if this is true.' }),
  kind: Type.Optional(Type.Enum(['integration', 'installation'])),
  integration: optional(Type.String(), 'Its name.'),
  installation: optional(Type.String(), 'Its id.'),
  organization: optional(Type.String(), 'The organization that installed.'),
  space: optional(Type.String(), 'The space of the call that the token was made for.'),
  site: optional(Type.String(), 'The site of the call that the token was made for.'),
  scopes: optional(Type.Array(Type.String()), 'Of the version that runs.'),
  expiresAt: Type.Optional(Time),
});

export const TOKEN_ROUTES = [
  route({
    name: 'tokens.create',
    at: 'POST /tokens',
    summary: 'Create a token',
    rights: requireAdmin,
    body: TokenBody,
    answer: NewTokenView,
    status: 201,
    async handle(request, { tokens }) {
      const { token, ...record } = await tokens.create(grantOf(request.body), actorOf(request));
      return { ...tokenView(record), token };
    },
  }),
  route({
    name: 'tokens.list',
    at: 'GET /tokens',
    summary: 'List tokens',
    rights: requireAdmin,
    query: PageQuery,
    answer: PageOf(TokenView),
    handle: async (request, { tokens }) =>
      pageAnswer(await tokens.list(pageRequest(request.query)), tokenView),
  }),
  route({
    name: 'tokens.delete',
    at: 'DELETE /tokens/:id',
    summary: 'Revoke a token',
    rights: requireAdmin,
    params: { id: Name },
    async handle(request, { tokens, followers }) {
      const { id } = request.params;
      if (!(await tokens.revoke(id, actorOf(request))))
        throw new AnnexError('TOKEN_UNKNOWN', `There is no token "${id}".`);
      // Streams with the token end.
      followers.check();
    },
  }),
  route({
    name: 'tokens.introspect',
    at: 'POST /tokens/introspect',
    summary: 'Introspect a runtime token',
    description:
      'A token that is forged, expired, or of something deleted is answered with `{"active": false}`.',
    rights: requires(mayIntrospect, 'This needs a platform token'),
    body: IntrospectionBody,
    answer: IntrospectionView,
    async handle(request, { runtimeTokens }) {
      const read = runtimeTokens.read(request.body.token);
      const grant = read && !read.isExpired ? await runtimeTokens.grant(read.claims) : undefined;
      return grant === undefined ? { active: false } : grantView(grant);
    },
  }),
];

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

function grantView({ claims, organization }: RuntimeGrant) {
  const { kind, integration, scopes } = claims;
  const common = { active: true, kind, integration, scopes, expiresAt: isoTime(claims.expiresAt * 1_000) };
  if (claims.kind === 'integration') return common;
  const { installationId: installation } = claims.target;
  return { ...common, installation, organization, ...placeView(claims.target) };
}
