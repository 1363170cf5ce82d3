/**
 * `…/credentials/lease`: how code of an integration renews an access token without another call doing the same
 * (REFERENCE 6). `getOAuthToken()` of the SDK asks here; nobody else has a reason to.
 *
 * The one route that shows credentials, so it is the narrowest. No token that is stored gets here, not the operator's
 * either; of runtime tokens, those of calls whose environment holds the same credentials already. Whoever steals such a
 * token learns what its call was handed anyway, until the token expires, a minute later. And as everything here it is
 * answered with `no-store`.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { LEVELS, type Level, type TargetName } from '../../../model/installation.ts';
import { mayRenewCredentials } from '../../../model/principal.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { CredentialLeases } from '../../../store/installations/credential-leases.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import { FOR_RUNTIME, principalOf } from '../authenticate.ts';
import { tagReply } from '../entity-tag.ts';
import { ERRORS_VIEW, isoTime, NoQuery, Time } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleTarget } from './installation-rights.ts';
import {
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  type TargetParams,
  targetNameOf,
} from './target-paths.ts';

export interface CredentialLeasesRouteParts {
  readonly installations: Pick<Installations, 'read'>;
  readonly credentialLeases: CredentialLeases;
}

const Lease = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });

const LeaseBody = Type.Object(
  {
    lease: Type.Optional(
      Type.String({ ...Lease, description: 'One that is held already: more time for it.' }),
    ),
  },
  { additionalProperties: false },
);

const LeaseView = Type.Object({
  lease: Type.Optional(Type.String({ description: 'Absent while another call holds it: try again.' })),
  expiresAt: Type.Optional(Time),
  credentials: Type.Optional(
    Type.Unsafe<Record<string, unknown>>(
      Type.Object({}, { additionalProperties: true, description: '`oauth_credentials` as they are now.' }),
    ),
  ),
});

export function credentialLeasesRoutes(app: TypedApp, parts: CredentialLeasesRouteParts): void {
  for (const level of LEVELS) leaseRoutes(app, parts, level);
}

function leaseRoutes(app: TypedApp, parts: CredentialLeasesRouteParts, level: Level): void {
  const { credentialLeases } = parts;
  const path = `${TARGET_PATHS[level]}/credentials/lease`;
  app.post(
    path,
    {
      config: FOR_RUNTIME,
      schema: {
        summary: `Be the one to renew the credentials of ${TARGET_NOUNS[level]}`,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        body: LeaseBody,
        response: { 200: LeaseView, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const name = await renewableTarget(parts, request, level);
      const taken = await credentialLeases.take(name, request.body.lease);
      if (taken === undefined) throw unknownTarget(name);
      const { target, lease } = taken;
      const credentials = taken.credentials as Record<string, unknown> | undefined;
      return tagReply(reply, target).send({
        ...(lease && { lease: lease.id, expiresAt: isoTime(lease.expiresAt) }),
        ...(credentials && { credentials }),
      });
    },
  );
  app.delete(
    `${path}/:lease`,
    {
      config: FOR_RUNTIME,
      schema: {
        summary: `Let others renew the credentials of ${TARGET_NOUNS[level]}`,
        params: Type.Object({ ...TARGET_PARAMS[level].properties, lease: Lease }),
        querystring: NoQuery,
        response: { 204: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { lease } = request.params as TargetParams & { readonly lease: string };
      await credentialLeases.release(await renewableTarget(parts, request, level), lease);
      return reply.code(204).send(null);
    },
  );
}

/** The target of the path, for calls that have its credentials. @throws `TOKEN_FORBIDDEN`, `INSTALLATION_UNKNOWN` */
export async function renewableTarget(
  { installations }: Pick<CredentialLeasesRouteParts, 'installations'>,
  request: FastifyRequest,
  level: Level,
): Promise<TargetName> {
  const principal = principalOf(request);
  if (principal.kind !== 'installation') {
    const message = `Credentials are for the calls that have them; the request came with a token of kind ${principal.kind}.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const params = request.params as TargetParams;
  const name = targetNameOf(level, params);
  await visibleTarget(installations, request, params.name, name);
  if (mayRenewCredentials(principal, name)) return name;
  const message = `Credentials of a ${level} are for calls of that ${level} alone.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}
