/**
 * `/v1/audit`: who changed what, newest first. For the operator and the host product; an organization reads the entries that
 * concern it. There is no way to change one.
 */
import Type from 'typebox';
import type { HolderPrincipal } from '../../model/principal.ts';
import type { Audit, AuditRecord } from '../../store/audit.ts';
import { AUDIT_ACTIONS } from '../../store/audit-rows.ts';
import { holderOf } from './authenticate.ts';
import { placeView } from './installations/target-paths.ts';
import { organizationRead } from './own-organization.ts';
import {
  ERRORS_VIEW,
  isoTime,
  Name,
  Organization,
  PAGE_QUERY,
  PageOf,
  pageAnswer,
  pageRequest,
  Time,
} from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const EntryView = Type.Object({
  id: Type.String(),
  at: Time,
  action: Type.String(),
  actor: Type.Object({
    kind: Type.String({ description: 'Kind of the token.' }),
    token: Type.Optional(
      Type.String({
        description:
          'Id of the token; runtime tokens have none, and that of another organization is not told.',
      }),
    ),
  }),
  address: Type.Optional(
    Type.String({
      description:
        "Where it came from. Absent for an integration's own code; an organization is told of its own tokens alone.",
    }),
  ),
  requestId: Type.String(),
  organization: Type.Optional(Type.String()),
  integration: Type.Optional(Type.String()),
  installation: Type.Optional(Type.String()),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Names of what was changed, never values.',
  }),
});

const AuditListQuery = Type.Object(
  {
    ...PAGE_QUERY,
    organization: Type.Optional(Organization),
    integration: Type.Optional(Name),
    installation: Type.Optional(Name),
    action: Type.Optional(Type.Enum([...AUDIT_ACTIONS])),
  },
  { additionalProperties: false },
);

export interface AuditRouteParts {
  readonly audit: Pick<Audit, 'list'>;
}

export function auditRoutes(app: TypedApp, { audit }: AuditRouteParts): void {
  app.get(
    '/audit',
    {
      schema: {
        summary: 'List changes, newest first',
        description: 'A page may hold fewer than `limit`, or none, and still have a `next`.',
        querystring: AuditListQuery,
        response: { 200: PageOf(EntryView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const reader = holderOf(request);
      const { integration, installation, action } = request.query;
      const organization = organizationRead(reader, request.query.organization, 'entries');
      const page = await audit.list({
        ...pageRequest(request.query),
        ...{ organization, integration, installationId: installation, action },
      });
      return pageAnswer(page, (entry) => entryView(entry, reader));
    },
  );
}

function entryView(entry: AuditRecord, reader: HolderPrincipal) {
  const { id, at, action, actor, tokenId, address, requestId, details } = entry;
  const { organization, integration, installationId } = entry;
  // Where the operator sits is no business of a tenant's; nor who it was, and where, that deleted for its owner what the
  // tenant had installed.
  const isTenant = reader.kind === 'organization';
  const isOwn = entry.actorOrganization === reader.organization;
  const isStranger = isTenant && actor === 'organization' && !isOwn;
  const isShown = !isTenant || (actor === 'organization' && isOwn);
  return {
    id,
    at: isoTime(at),
    action,
    actor: { kind: actor, ...(tokenId !== undefined && !isStranger && { token: tokenId }) },
    ...(isShown && address !== undefined && { address }),
    requestId,
    ...(organization !== undefined && { organization }),
    ...(integration !== undefined && { integration }),
    ...(installationId !== undefined && { installation: installationId }),
    ...placeView(entry),
    details: { ...details },
  };
}
