/** `annex versions`: the versions of an integration. */
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';

export const VERSION = Type.Object({
  version: Type.Integer(),
  active: Type.Boolean(),
  createdAt: Type.String(),
});

/** The argument that names a version. */
export function versionNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`a version is a whole number from 1 on; it is "${text}".`);
}

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
