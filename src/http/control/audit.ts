/**
 * `/v1/audit`: the changes and their actors, newest first. For the operator and the host product;
 * an organization reads the entries that concern it. Entries cannot be changed.
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

const EntryView = Type.Object(
  {
    id: Type.String(),
    at: Time,
    action: Type.String(),
    actor: Type.Object({
      kind: Type.String({ description: 'Kind of the token.' }),
      token: Type.Optional(
        Type.String({
          description:
            'Id of the token; runtime tokens have none, and that of another organization is not shown.',
        }),
      ),
    }),
    address: Type.Optional(
      Type.String({
        description:
          "Address of the client. Absent for an integration's own code; an organization sees it for its own tokens only.",
      }),
    ),
    requestId: Type.String(),
    organization: Type.Optional(Type.String()),
    integration: Type.Optional(Type.String()),
    installation: Type.Optional(Type.String()),
    space: Type.Optional(Type.String()),
    site: Type.Optional(Type.String()),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Names of the members that changed, never values.',
    }),
  },
  { title: 'AuditEntry' },
);

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
  // A tenant sees neither the operator's address nor the identity and address of another
  // organization that deleted, as the owner, what the tenant had installed.
  const isTenant = reader.kind === 'organization';
  const isOwn = entry.actorOrganization === reader.organization;
  const isOtherTenant = isTenant && actor === 'organization' && !isOwn;
  const isShown = !isTenant || (actor === 'organization' && isOwn);
  return {
    id,
    at: isoTime(at),
    action,
    actor: { kind: actor, ...(tokenId !== undefined && !isOtherTenant && { token: tokenId }) },
    ...(isShown && address !== undefined && { address }),
    requestId,
    ...(organization !== undefined && { organization }),
    ...(integration !== undefined && { integration }),
    ...(installationId !== undefined && { installation: installationId }),
    ...placeView(entry),
    details: { ...details },
  };
}
