/**
 * `/v1/audit`: the changes and their actors, newest first. For the operator and the host product;
 * an organization reads the entries that concern it. Entries cannot be changed.
 */
import Type from 'typebox';
import type { HolderPrincipal } from '../../../model/principal.ts';
import type { AuditRecord } from '../../store/audit.ts';
import { AUDIT_ACTIONS } from '../../store/audit-rows.ts';
import { holderOf } from './authenticate.ts';
import { placeView } from './installations/targets.ts';
import { organizationRead, PAGE_QUERY, PageOf, pageAnswer, pageRequest } from './lists.ts';
import { route } from './route.ts';
import { isoTime, Name, named, Organization, optional, Time } from './schemas.ts';

const EntryView = named('AuditEntry', {
  id: Type.String(),
  at: Time,
  action: Type.String(),
  actor: Type.Object({
    kind: Type.String({ description: 'Kind of the token.' }),
    token: optional(
      Type.String(),
      'Id of the token; runtime tokens have none, and that of another organization is not shown.',
    ),
  }),
  address: optional(
    Type.String(),
    "Address of the client. Absent for an integration's own code; an organization sees it for its own tokens only.",
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

export const AUDIT_ROUTES = [
  route({
    name: 'audit.list',
    at: 'GET /audit',
    summary: 'List changes, newest first',
    description: 'A page may hold fewer than `limit`, or none, and still have a `next`.',
    query: AuditListQuery,
    answer: PageOf(EntryView),
    async handle(request, { audit }) {
      const reader = holderOf(request);
      const { integration, installation: installationId, action } = request.query;
      const organization = organizationRead(reader, request.query.organization, 'entries');
      const of = { organization, integration, installationId, action };
      return pageAnswer(await audit.list({ ...pageRequest(request.query), ...of }), (entry) =>
        entryView(entry, reader),
      );
    },
  }),
];

function entryView(entry: AuditRecord, reader: HolderPrincipal) {
  const { id, at, action, actor, tokenId, address, requestId, details } = entry;
  const { organization, integration, installationId: installation } = entry;
  // A tenant sees neither the operator's address nor the identity and address of another
  // organization that deleted, as the owner, what the tenant had installed.
  const isTenant = reader.kind === 'organization';
  const isOwn = entry.actorOrganization === reader.organization;
  const isOtherTenant = isTenant && actor === 'organization' && !isOwn;
  const isShown = !isTenant || (actor === 'organization' && isOwn);
  return {
    ...{ id, at: isoTime(at), action },
    actor: { kind: actor, token: isOtherTenant ? undefined : tokenId },
    address: isShown ? address : undefined,
    ...{ requestId, organization, integration, installation },
    ...placeView(entry),
    details: { ...details },
  };
}
