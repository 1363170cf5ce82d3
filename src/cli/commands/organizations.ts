/**
 * `annex organizations`: the organizations that the host product has declared, with their
 * subdomains. For the operator and the host product.
 */
import Type from 'typebox';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { paint } from '../terminal/output.ts';

const ORGANIZATION = {
  id: Type.String(),
  subdomain: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  createdAt: Type.String(),
  updatedAt: Type.String(),
};
const ID = { help: 'id of the organization' } as const;

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the organizations that are declared',
  examples: [{ line: 'annex organizations list', does: 'see which subdomain is whose' }],
  json: Type.Object({ items: Type.Array(Type.Object(ORGANIZATION)) }),
  async run({ output, client, signal }) {
    const items = await Array.fromAsync((await client()).organizations.all({}, { signal }));
    output.list(
      { items },
      ['ORGANIZATION', 'SUBDOMAIN', 'TITLE', 'CHANGED'],
      ({ id, subdomain = '', title = '', updatedAt }) => [id, subdomain, title, paint('dim', updatedAt)],
      'None is declared. An organization needs no declaration to install or to publish.',
    );
  },
});

const put: Command = defineCommand({
  name: 'put',
  summary: 'declare an organization, or replace its declaration',
  description: [
    'With a subdomain, manifests may name the organization by its id or by the subdomain. What is left out is removed from the declaration.',
  ],
  arguments: { id: ID },
  options: {
    subdomain: { value: 'name', help: 'another name for it in manifests: no other organization may have it' },
    title: { value: 'text', help: 'what people call it' },
  },
  examples: [
    { line: 'annex organizations put org_17 --subdomain acme --title "Acme Inc."', does: 'declare one' },
  ],
  json: Type.Object(ORGANIZATION),
  async run({ output, client, signal }, { id, ...declared }) {
    const made = await (await client()).organizations.set(id, declared, { signal });
    const also = made.subdomain === undefined ? '' : `, in manifests also ${made.subdomain}`;
    output.result(made, () => output.line(`${made.id} is declared${also}.`));
  },
});

const remove: Command = defineCommand({
  name: 'delete',
  summary: 'delete the declaration of an organization',
  description: ['What it owns and has installed stays. Manifests name it by its id alone from now on.'],
  arguments: { id: ID },
  examples: [{ line: 'annex organizations delete org_17', does: 'free its subdomain' }],
  json: Type.Object({ id: Type.String(), deleted: Type.Literal(true) }),
  async run({ output, client, signal }, { id }) {
    await (await client()).organizations.delete(id, { signal });
    output.result({ id, deleted: true }, () => output.line(`${id} is not declared any more.`));
  },
});

export const organizations: CommandGroup = {
  name: 'organizations',
  summary: 'declare organizations and their subdomains',
  examples: [{ line: 'annex organizations list', does: 'see which subdomain is whose' }],
  commands: [list, put, remove],
};
