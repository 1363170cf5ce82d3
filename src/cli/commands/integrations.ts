/** `annex integrations`: what is published on a service. */
import Type from 'typebox';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { paint } from '../terminal/output.ts';

const INTEGRATION = {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  organization: Type.String(),
  visibility: Type.Enum(['private', 'unlisted', 'public']),
  version: Type.Integer({ description: 'The active version.' }),
  createdAt: Type.String(),
  updatedAt: Type.String(),
};
const NAME = { help: 'name of the integration' } as const;

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the integrations',
  examples: [{ line: 'annex integrations list', does: 'see what is published' }],
  json: Type.Object({ items: Type.Array(Type.Object(INTEGRATION)) }),
  async run({ output, client, signal }) {
    const items = await Array.fromAsync((await client()).integrations.all({}, { signal }));
    output.result({ items }, () => {
      output.table(
        ['INTEGRATION', 'VERSION', 'ORGANIZATION', 'VISIBILITY', 'TITLE'],
        items.map(({ name, version, organization, visibility, title }) => [
          paint('bold', name),
          version,
          organization,
          visibility,
          title,
        ]),
      );
      if (items.length === 0) output.talk('There is none yet: `annex publish` makes one.');
    });
    return undefined;
  },
});

const show: Command = defineCommand({
  name: 'show',
  summary: 'show one integration',
  arguments: { integration: NAME },
  examples: [{ line: 'annex integrations show hello', does: 'see its version, scopes and blocks' }],
  json: Type.Object({ ...INTEGRATION, target: Type.String(), scopes: Type.Array(Type.String()) }),
  async run({ output, client, signal }, { integration: name }) {
    const whole = await (await client()).integrations.get(name, { signal });
    output.result(whole, () => {
      const rows: [string, string | number][] = [
        ['title', whole.title],
        ['description', whole.description],
        ['organization', whole.organization],
        ['visibility', whole.visibility],
        ['version', whole.version],
        ['installs at', whole.target],
        ['scopes', whole.scopes.join(', ') || 'none'],
        ['updated', whole.updatedAt],
      ];
      output.table(
        ['', whole.name],
        rows.map(([title, value]) => [paint('dim', title), value]),
      );
    });
    return undefined;
  },
});

const remove: Command = defineCommand({
  name: 'delete',
  summary: 'delete an integration with all its versions',
  description: [
    'Deletes an integration with its versions, images and secrets. It must not be installed, unless --cascade also removes its installations. Nothing of it can be restored.',
  ],
  arguments: { integration: NAME },
  options: { cascade: { help: 'remove its installations and their data as well' } },
  examples: [
    { line: 'annex integrations delete hello', does: 'delete an integration without installations' },
  ],
  json: Type.Object({ name: Type.String(), deleted: Type.Literal(true) }),
  async run({ output, client, signal }, { integration: name, cascade }) {
    await (await client()).integrations.delete(name, cascade ? { cascade } : {}, { signal });
    output.result({ name, deleted: true }, () => output.line(`${name} is deleted.`));
    return undefined;
  },
});

export const integrations: CommandGroup = {
  name: 'integrations',
  summary: 'list, show and delete integrations',
  examples: [{ line: 'annex integrations list', does: 'see what is published' }],
  commands: [list, show, remove],
};
