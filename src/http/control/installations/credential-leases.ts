/**
 * `…/credentials/lease`: a lease lets one call renew an access token while others wait
 * (docs/contract/oauth.md#leases). For `getOAuthToken()` of the SDK.
 *
 * The only route that shows credentials, so it is the narrowest. It accepts no stored token, not
 * even the operator's, and only runtime tokens of calls whose environment has the same credentials.
 * Attack: a stolen runtime token. It reveals only what its call was given anyway, and expires
 * within a minute. As on all routes here, answers carry `no-store`.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { TargetName } from '../../../model/installation.ts';
import { LEVELS, type Level } from '../../../model/level.ts';
import { maySeeCredentials } from '../../../model/principal.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { CredentialLeases } from '../../../store/installations/credential-leases.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import { FOR_RUNTIME, principalOf } from '../authenticate.ts';
import { tagReply } from '../entity-tag.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
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
      Type.String({ ...Lease, description: 'A lease that the call holds, to extend it.' }),
    ),
  },
  { title: 'LeaseRequest', additionalProperties: false },
);

const LeaseView = Type.Object(
  {
    lease: Type.Optional(
      Type.String({ description: 'Absent while another call holds the lease: try again.' }),
    ),
    expiresAt: Type.Optional(Time),
    credentials: Type.Optional(
      Type.Unsafe<Record<string, unknown>>(
        Type.Object({}, { additionalProperties: true, description: 'The present `oauth_credentials`.' }),
      ),
    ),
  },
  { title: 'CredentialsLease' },
);

export function credentialLeasesRoutes(app: TypedApp, parts: CredentialLeasesRouteParts): void {
  for (const level of LEVELS) leaseRoutes(app, parts, level);
}

function leaseRoutes(app: TypedApp, parts: CredentialLeasesRouteParts, level: Level): void {
  const { credentialLeases } = parts;
  const path = `${TARGET_PATHS[level]}/credentials/lease`;
  app.post(
    path,
    {
      config: { ...FOR_RUNTIME, ...BOUND_BY_CALLS },
      schema: {
        summary: `Lease the credentials of ${TARGET_NOUNS[level]} to renew them`,
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
      config: { ...FOR_RUNTIME, ...BOUND_BY_CALLS },
      schema: {
        summary: `Release the lease of the credentials of ${TARGET_NOUNS[level]}`,
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

/**
 * The target of the path, for calls that have its credentials. @throws AnnexError TOKEN_FORBIDDEN,
 * INSTALLATION_UNKNOWN
 */
export async function renewableTarget(
  { installations }: Pick<CredentialLeasesRouteParts, 'installations'>,
  request: FastifyRequest,
  level: Level,
): Promise<TargetName> {
  const principal = principalOf(request);
  if (principal.kind !== 'installation') {
    const message = `Credentials need the runtime token of a call of the installation; the request came with one of kind ${principal.kind}.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const params = request.params as TargetParams;
  const name = targetNameOf(level, params);
  await visibleTarget(installations, request, params.name, name);
  if (maySeeCredentials(principal, name)) return name;
  const message = `Credentials of a ${level} need the runtime token of a call for that ${level}.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}
