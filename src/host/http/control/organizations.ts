/**
 * `/v1/organizations`: organizations that the host product has declared
 * (docs/contract/api.md#organizations). For the host product and the operator: their names are
 * those of all customers. One that is not declared works the same; it has no subdomain.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { BUILT_IN_ORGANIZATION, SUBDOMAIN } from '../../../model/identifiers.ts';
import { isPlatform } from '../../../model/principal.ts';
import type { Organization as Declared } from '../../store/organizations.ts';
import { actorOf, requires } from './authenticate.ts';
import { PageOf, PageQuery, pageAnswer, pageRequest } from './lists.ts';
import { route } from './route.ts';
import { closed, isoTime, NoQuery, named, Organization, optional, Time } from './schemas.ts';

const DECLARED = {
  subdomain: optional(
    Type.String({ maxLength: 63, pattern: SUBDOMAIN.source }),
    'Another name for it in manifests: a label of DNS in lower case, and of no other organization.',
  ),
  title: optional(
    Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$' }),
    'For people.',
  ),
};
const OrganizationView = named('Organization', {
  id: Type.String(),
  ...DECLARED,
  createdAt: Time,
  updatedAt: Time,
});
const PATH = '/organizations/:id';
const PARAMS = { id: Organization };
const rights = requires(isPlatform, 'Organizations need a platform token');

export const ORGANIZATION_ROUTES = [
  route({
    name: 'organizations.list',
    at: 'GET /organizations',
    summary: 'List the declared organizations, by id',
    rights,
    query: PageQuery,
    answer: PageOf(OrganizationView),
    handle: async (request, { organizations }) =>
      pageAnswer(await organizations.list(pageRequest(request.query)), organizationView),
  }),
  route({
    name: 'organizations.get',
    at: `GET ${PATH}`,
    summary: 'Read a declared organization',
    rights,
    params: PARAMS,
    query: NoQuery,
    answer: OrganizationView,
    async handle({ params: { id } }, { organizations }) {
      const found = await organizations.read(id);
      if (found === undefined) throw unknown(id);
      return organizationView(found);
    },
  }),
  route({
    name: 'organizations.set',
    at: `PUT ${PATH}`,
    right: 'operate',
    summary: 'Declare an organization, or replace its declaration',
    description: 'Refused if the subdomain is that of another organization, or the id of one that is in use.',
    rights,
    params: PARAMS,
    query: NoQuery,
    body: closed('OrganizationToDeclare', DECLARED),
    answer: OrganizationView,
    async handle(request, { organizations }) {
      const { id } = request.params;
      if (id === BUILT_IN_ORGANIZATION)
        throw new AnnexError('REQUEST_INVALID', `path.id "${id}" owns the built-in integrations.`);
      return organizationView(await organizations.put(id, request.body, actorOf(request)));
    },
  }),
  route({
    name: 'organizations.delete',
    at: `DELETE ${PATH}`,
    right: 'operate',
    summary: 'Delete the declaration of an organization',
    description: 'What it owns and has installed stays, by its id.',
    rights,
    params: PARAMS,
    query: NoQuery,
    async handle(request, { organizations }) {
      const { id } = request.params;
      if (!(await organizations.delete(id, actorOf(request)))) throw unknown(id);
    },
  }),
];

const unknown = (id: string): AnnexError =>
  new AnnexError('ORGANIZATION_UNKNOWN', `The organization "${id}" is not declared.`);

const organizationView = ({ createdAt, updatedAt, ...rest }: Declared) => ({
  ...rest,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});
