/**
 * What code of an integration alone gets, with its runtime tokens: credentials to renew, and the
 * token of an installation.
 *
 * `…/credentials/lease`: a lease lets one call renew an access token while others wait
 * (docs/contract/oauth.md#leases), for `getOAuthToken()` of the SDK. It is the only route that
 * shows credentials, so it is the narrowest. It accepts no stored token, not even the operator's,
 * and only runtime tokens of calls whose environment has the same credentials. Attack: a stolen
 * runtime token. It reveals only what its call was given anyway, and expires within a minute. As on
 * all routes here, answers carry `no-store`.
 *
 * `…/credentials/lost`: reports that a provider has refused to renew them for good, so that the
 * product hears of it (docs/contract/notices.md). It counts for the holder of the lease alone.
 *
 * `…/credentials/states`: spends the `state` of an OAuth flow, so that it is valid once
 * (docs/contract/oauth.md#state). `createOAuthHandler` of the SDK calls it before it exchanges a
 * code. It counts as an edit: each state is a row that is kept for a quarter of an hour.
 *
 * `…/installations/{id}/tokens`: code of an integration gets the token of one of its installations
 * (docs/contract/environment.md#runtime-tokens). Code at the integration's own endpoint serves many
 * installations and has a token of none. The token is the one that a call of the installation would
 * get now: nothing is stored, and requests within half a minute get the same.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { type TargetName, wholeInstallation } from '../../../../model/installation.ts';
import { LEVELS, type Level } from '../../../../model/level.ts';
import { mayHaveToken, maySeeCredentials, type Principal } from '../../../../model/principal.ts';
import { unknownTarget } from '../../../../model/unknown-name-errors.ts';
import { principalOf, runtimeOf, wrongKind } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { expectedRevision, IfMatch, tagReply } from '../entity-tag.ts';
import { route } from '../route.ts';
import { closed, isoTime, NoQuery, named, optional, Time } from '../schemas.ts';
import {
  countedEdit,
  INSTALLATION,
  INSTALLATION_PARAMS,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  targetNameOf,
  visibleTarget,
} from './targets.ts';

const Lease = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });

const LeaseBody = closed('LeaseRequest', {
  lease: Type.Optional(Type.String({ ...Lease, description: 'A lease that the call holds, to extend it.' })),
});

const LeaseView = named('CredentialsLease', {
  lease: optional(Type.String(), 'Absent while another call holds the lease: try again.'),
  expiresAt: Type.Optional(Time),
  credentials: Type.Optional(
    Type.Unsafe<Record<string, unknown>>(
      Type.Object({}, { additionalProperties: true, description: 'The present `oauth_credentials`.' }),
    ),
  ),
});

const LostBody = closed('LostConnection', {
  lease: Type.String({ ...Lease, description: 'The lease with which the renewal was refused.' }),
});

const StateBody = closed('StateToSpend', {
  digest: Type.String({
    description: 'SHA-256 of the state, in base64url.',
    maxLength: 43,
    pattern: '^[A-Za-z0-9_-]{43}$',
  }),
});

const StateView = named('SpentState', {
  isFirst: Type.Boolean({ description: 'Whether the state was not spent before.' }),
});

const TokenView = named('InstallationToken', {
  token: Type.String({ description: 'A runtime token of the installation, of kind `installation`.' }),
});

const ofLevel = (level: Level) => [
  route({
    name: `${TARGET_TAGS[level]}.leaseCredentials`,
    at: `POST ${TARGET_PATHS[level]}/credentials/lease`,
    summary: `Lease the credentials of ${TARGET_NOUNS[level]} to renew them`,
    forRuntime: true,
    rate: 'calls',
    params: TARGET_PARAMS[level],
    query: NoQuery,
    body: LeaseBody,
    answer: LeaseView,
    async handle(request, control, reply) {
      const name = await renewableTarget(control, request, level);
      const taken = await control.credentialLeases.take(name, request.body.lease);
      if (taken === undefined) throw unknownTarget(name);
      const { target, lease } = taken;
      tagReply(reply, target);
      const credentials = taken.credentials as Record<string, unknown> | undefined;
      return { lease: lease?.id, expiresAt: lease && isoTime(lease.expiresAt), credentials };
    },
  }),
  route({
    name: `${TARGET_TAGS[level]}.releaseCredentials`,
    at: `DELETE ${TARGET_PATHS[level]}/credentials/lease/:lease`,
    summary: `Release the lease of the credentials of ${TARGET_NOUNS[level]}`,
    forRuntime: true,
    rate: 'calls',
    params: { ...TARGET_PARAMS[level], lease: Lease },
    query: NoQuery,
    async handle(request, control) {
      await control.credentialLeases.release(
        await renewableTarget(control, request, level),
        request.params.lease,
      );
    },
  }),
  route({
    name: `${TARGET_TAGS[level]}.reportLostConnection`,
    at: `POST ${TARGET_PATHS[level]}/credentials/lost`,
    summary: `Report that no provider renews the credentials of ${TARGET_NOUNS[level]} any more`,
    description: 'The product is told once, until other credentials are stored.',
    forRuntime: true,
    rate: 'calls',
    headers: IfMatch,
    params: TARGET_PARAMS[level],
    query: NoQuery,
    body: LostBody,
    async handle(request, control) {
      const name = await renewableTarget(control, request, level);
      const ifRevision = expectedRevision(request, await visibleTarget(control, request, level));
      await control.lostConnections.report(name, request.body.lease, { ifRevision });
    },
  }),
  route({
    name: `${TARGET_TAGS[level]}.spendState`,
    at: `POST ${TARGET_PATHS[level]}/credentials/states`,
    summary: `Spend the state of an OAuth flow of ${TARGET_NOUNS[level]}`,
    forRuntime: true,
    rate: countedEdit(level),
    params: TARGET_PARAMS[level],
    query: NoQuery,
    body: StateBody,
    answer: StateView,
    async handle(request, control) {
      const name = await renewableTarget(control, request, level);
      return { isFirst: await control.usedOAuthStates.spend(name, request.body.digest) };
    },
  }),
];

const tokenRoute = route({
  name: 'installations.createToken',
  at: `POST ${INSTALLATION}/tokens`,
  summary: 'Get a runtime token of an installation',
  description: 'For code of the integration. It expires as the tokens of a call do.',
  forRuntime: true,
  rate: 'calls',
  params: INSTALLATION_PARAMS,
  query: NoQuery,
  answer: TokenView,
  status: 201,
  async handle(request, control) {
    const principal = runtimeOf(request, 'This is for code of the integration, with a runtime token');
    const installation = await visibleTarget(control, request, 'organization');
    const target = targetOf(principal, installation);
    const token = (await control.targets.named(target))?.environment.apiTokens.installation;
    if (token === undefined || !mayHaveToken(principal, { ...installation, ...target }))
      throw unknownTarget(target);
    return { token };
  },
});

export const CREDENTIAL_ROUTES = [tokenRoute, ...LEVELS.flatMap(ofLevel)];

/**
 * The target of the token. Attack: code called for one space asks for the token of the whole
 * installation, and with it reads the other spaces. It gets the token of its space.
 */
const targetOf = (principal: Principal, { installationId }: TargetName): TargetName =>
  principal.kind === 'installation' ? principal.target : wholeInstallation(installationId);

/**
 * The target of the path, for calls that have its credentials. @throws AnnexError TOKEN_FORBIDDEN,
 * INSTALLATION_UNKNOWN
 */
async function renewableTarget(control: Control, request: FastifyRequest, level: Level): Promise<TargetName> {
  const principal = principalOf(request);
  if (principal.kind !== 'installation')
    throw wrongKind(principal, 'Credentials need the runtime token of a call of the installation');
  await visibleTarget(control, request, level);
  const name = targetNameOf(request, level);
  if (maySeeCredentials(principal, name)) return name;
  const message = `Credentials of a ${level} need the runtime token of a call for that ${level}.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}
