/** `annex versions`: the versions of an integration. */
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';
import { paint } from '../terminal/output.ts';

export const VERSION = Type.Object({
  version: Type.Integer(),
  active: Type.Boolean(),
  createdAt: Type.String(),
});

export const versions: Command = defineCommand({
  name: 'versions',
  summary: 'list the versions of an integration, newest first',
  arguments: { integration: { help: 'name of the integration' } },
  examples: [{ line: 'annex versions hello', does: 'see which version runs' }],
  json: Type.Object({ integration: Type.String(), items: Type.Array(VERSION) }),
  async run({ output, client, signal }, { integration }) {
    const items = await Array.fromAsync((await client()).versions.all(integration, {}, { signal }));
    output.result({ integration, items }, () => {
      output.table(
        ['VERSION', 'ACTIVE', 'PUBLISHED'],
        items.map(({ version, active, createdAt }) => [
          version,
          active ? paint('green', 'active') : '',
          paint('dim', createdAt),
        ]),
      );
    });
    return undefined;
  },
});
