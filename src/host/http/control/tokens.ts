/**
 * `/v1/tokens`: create, list and revoke tokens (docs/contract/api.md#tokens), for the operator. A
 * token is shown once, when it is created. Making and revoking have no right of their own: a token
 * that is narrowed does neither.
 *
 * `/v1/tokens/introspect`: what a runtime token represents, similar to RFC 7662
 * (docs/contract/api.md#introspection). The API that integrations call may be the host product's
 * own. It then receives runtime tokens, and asks here for their target and the manifest's scopes.
 * Stored tokens are answered as unknown. Attack: finding out the kind of a stolen token.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { BUILT_IN_ORGANIZATION } from '../../../model/identifiers.ts';
import { isTokenRight, mayIntrospect, TOKEN_KINDS, TOKEN_RIGHTS } from '../../../model/principal.ts';
import { RUNTIME_TOKEN_CHARS_MAX } from '../../../model/runtime-token-format.ts';
import type { TokenGrant, TokenRecord } from '../../store/tokens.ts';
import type { RuntimeGrant } from '../../targets/runtime-tokens.ts';
import { actorOf, holderOf, requireAdmin, requires, tokenRefused } from './authenticate.ts';
import { placeView } from './installations/targets.ts';
import { PageOf, PageQuery, pageAnswer, pageRequest } from './lists.ts';
import { route } from './route.ts';
import { closed, isoTime, isoTimeIfAny, Name, named, Organization, optional, Time } from './schemas.ts';

/** A longer life is none that anybody plans: leave the end out. */
const EXPIRES_IN_SECONDS_MAX = 10 * 366 * 24 * 60 * 60;
/** How long a link to the console can be used. */
const LINK_MS = 10 * 60_000;
const RIGHTS = Object.keys(TOKEN_RIGHTS).filter(isTokenRight);

const TOKEN = {
  id: Type.String(),
  name: optional(Type.String(), 'What its maker called it.'),
  kind: Type.Enum([...TOKEN_KINDS]),
  organization: Type.Optional(Type.String()),
  rights: optional(
    Type.Array(Type.Enum(RIGHTS)),
    'What it is narrowed to; absent if it has all rights of its kind.',
  ),
  createdAt: Time,
  expiresAt: Type.Optional(Time),
  lastUsedAt: optional(Time, 'To the minute; absent if it was never used.'),
};
const TokenView = named('Token', TOKEN);
const NewTokenView = named('NewToken', {
  ...TOKEN,
  token: Type.String({ description: 'Shown here and never again.' }),
});

const TokenBody = closed('TokenToCreate', {
  kind: Type.Enum([...TOKEN_KINDS]),
  organization: Type.Optional(Organization),
  name: optional(
    Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$' }),
    'For people: what it is for.',
  ),
  rights: optional(
    Type.Array(Type.Enum(RIGHTS), { minItems: 1, maxItems: RIGHTS.length, uniqueItems: true }),
    'Narrows it to these rights; absent: all rights of its kind.',
  ),
  expiresIn: optional(
    Type.Integer({ minimum: 1, maximum: EXPIRES_IN_SECONDS_MAX }),
    'Seconds until it expires; absent: valid until it is revoked.',
  ),
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
    name: 'console-links.create',
    at: 'POST /console-links',
    summary: 'Make a link that signs in to the console once',
    description:
      'Whoever opens it first, within ten minutes, has a session with the rights of the token of this request. The session ends after twelve hours, or with that token.',
    answer: named('ConsoleLink', {
      url: Type.String({ description: 'Path and fragment, on the control listener.' }),
      expiresAt: Time,
    }),
    status: 201,
    async handle(request, { tokens, console }) {
      if (!console)
        throw new AnnexError('ROUTE_UNKNOWN', 'This service does not serve the console (--console off).');
      const link = await tokens.openLink(holderOf(request), LINK_MS, actorOf(request));
      // Revoked since the request began.
      if (link === undefined) throw tokenRefused('unknown');
      return { url: `/console/#sign-in=${link.token}`, expiresAt: isoTime(link.expiresAt ?? 0) };
    },
  }),
  route({
    name: 'tokens.introspect',
    at: 'POST /tokens/introspect',
    right: 'introspect',
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

function grantOf({ kind, organization, ...body }: Type.Static<typeof TokenBody>): TokenGrant {
  // Attack: a token of the organization that owns the built-in integrations, and with them controls
  // their installations in every organization.
  if (organization === BUILT_IN_ORGANIZATION) {
    const why = 'owns the built-in integrations: tokens cannot be created for it.';
    throw new AnnexError('REQUEST_INVALID', `body.organization "${organization}" ${why}`);
  }
  const { name, rights, expiresIn } = body;
  const foreign = rights?.find((right) => !TOKEN_RIGHTS[right].kinds.some((one) => one === kind));
  if (foreign !== undefined)
    throw new AnnexError(
      'REQUEST_INVALID',
      `body.rights: a token of kind ${kind} cannot have the right "${foreign}".`,
    );
  const more = { name, rights, expiresInMs: expiresIn === undefined ? undefined : expiresIn * 1_000 };
  if (kind === 'organization' && organization !== undefined) return { kind, organization, ...more };
  if (kind !== 'organization' && organization === undefined) return { kind, ...more };
  const message =
    kind === 'organization'
      ? 'body.organization is missing: a token of kind organization needs one.'
      : `body.organization must be left out for a token of kind ${kind}.`;
  throw new AnnexError('REQUEST_INVALID', message);
}

const tokenView = ({ createdAt, expiresAt, lastUsedAt, rights, ...rest }: TokenRecord) => ({
  ...rest,
  ...(rights && { rights: [...rights] }),
  createdAt: isoTime(createdAt),
  expiresAt: isoTimeIfAny(expiresAt),
  lastUsedAt: isoTimeIfAny(lastUsedAt),
});

function grantView({ claims, organization }: RuntimeGrant) {
  const { kind, integration, scopes } = claims;
  const common = { active: true, kind, integration, scopes, expiresAt: isoTime(claims.expiresAt * 1_000) };
  if (claims.kind === 'integration') return common;
  const { installationId: installation } = claims.target;
  return { ...common, installation, organization, ...placeView(claims.target) };
}
