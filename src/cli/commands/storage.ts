/**
 * `annex storage`: lists and deletes what code has stored for an installation, or for its
 * integration. Keys and sizes alone: nobody but the code reads a value.
 */
import Type from 'typebox';
import type { Annex } from '../../../packages/client/src/index.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';
import { firstOf } from '../traffic/follow-stream.ts';
import { findInstallation, INSTALLATION, nameOf } from '../traffic/installation.ts';
import { wholeNumber } from '../traffic/option-values.ts';

const SHOWN = 100;
const PAGE = 100;
const KEY = Type.Object({
  key: Type.String(),
  kind: Type.String(),
  bytes: Type.Integer(),
  version: Type.Integer(),
  expiresAt: Type.Optional(Type.String()),
  updatedAt: Type.String(),
});
const USAGE = Type.Object({
  keys: Type.Integer(),
  keysMax: Type.Integer(),
  bytes: Type.Integer(),
  bytesMax: Type.Integer(),
});
const OF_INTEGRATION = {
  integration: { value: 'name', help: 'what all installations of this integration share, instead' },
} as const;

/** What the words of a command name. */
interface Area {
  /** For messages. */
  readonly name: string;
  readonly integration: string;
  /** Absent for what all installations share. */
  readonly id?: string;
}

/** @throws UsageError, Failure */
async function areaOf(
  client: Annex,
  { installation, integration }: { installation?: string | undefined; integration?: string | undefined },
): Promise<Area> {
  if ((installation === undefined) === (integration === undefined))
    throw new UsageError('Name an installation, or an integration with --integration.');
  if (integration !== undefined) return { name: integration, integration };
  const found = await findInstallation(client, installation ?? '');
  return { name: nameOf(found), integration: found.integration, id: found.id };
}

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the keys that code has stored, without their values',
  arguments: { installation: { ...INSTALLATION, optional: true } },
  options: {
    ...OF_INTEGRATION,
    prefix: { value: 'text', help: 'only keys that begin with it' },
    limit: { value: 'number', help: 'keys at most', parse: wholeNumber, default: SHOWN },
  },
  examples: [
    { line: 'annex storage list hello', does: 'see what the only installation of hello has stored' },
    { line: 'annex storage list --integration hello', does: 'see what all of its installations share' },
  ],
  json: Type.Object({ items: Type.Array(KEY), usage: USAGE }),
  async run({ output, client: connect }, { prefix, limit, ...words }) {
    const client = await connect();
    const { name, integration, id } = await areaOf(client, words);
    const query = { ...(prefix !== undefined && { prefix }), limit: Math.max(1, Math.min(PAGE, limit)) };
    const { installations, integrations } = client;
    const [{ usage }, items] = await Promise.all([
      id === undefined
        ? integrations.listStoredKeys(integration, { limit: 1 })
        : installations.listStoredKeys(integration, id, { limit: 1 }),
      firstOf(
        id === undefined
          ? integrations.allStoredKeys(integration, query)
          : installations.allStoredKeys(integration, id, query),
        limit,
      ),
    ]);
    const { keys, keysMax, bytes, bytesMax } = usage;
    output.list(
      { items, usage },
      ['KEY', 'KIND', 'BYTES', 'STORED', 'EXPIRES'],
      (item) => [
        // As JSON, which has no control characters: the code has chosen the key.
        JSON.stringify(item.key),
        item.kind,
        String(item.bytes),
        paint('dim', item.updatedAt),
        paint('dim', item.expiresAt ?? ''),
      ],
      `${name} has stored no such keys.`,
    );
    output.talk(`${keys} of ${keysMax} keys, ${bytes} of ${bytesMax} bytes.`);
  },
});

const remove: Command = defineCommand({
  name: 'delete',
  summary: 'delete a value that code has stored',
  arguments: { key: { help: 'its key' }, installation: { ...INSTALLATION, optional: true } },
  options: OF_INTEGRATION,
  examples: [{ line: 'annex storage delete cursor hello@acme', does: 'have the code begin anew' }],
  json: Type.Object({ key: Type.String() }),
  async run({ output, client: connect }, { key, ...words }) {
    const client = await connect();
    const { name, integration, id } = await areaOf(client, words);
    await (id === undefined
      ? client.integrations.deleteStoredValue(integration, key)
      : client.installations.deleteStoredValue(integration, id, key));
    output.result({ key }, () => output.line(`${JSON.stringify(key)} of ${name} is deleted.`));
  },
});

export const storage: CommandGroup = {
  name: 'storage',
  summary: 'list and delete what code has stored',
  description: ['Keys and sizes are shown; the values are for the code alone.'],
  examples: [{ line: 'annex storage list hello', does: 'see what the code has stored' }],
  commands: [list, remove],
};
