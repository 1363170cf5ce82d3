/**
 * `annex event-types`: lists the event types that the product has declared, makes them those of a
 * file, and deletes one. For the operator.
 */
import { dirname, resolve } from 'node:path';
import Type from 'typebox';
import type { Annex } from '../../../packages/client/src/index.ts';
import { readEventTypeFile } from '../../model/event-type-file.ts';
import { readGiven } from '../../real-files.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { Failure, UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';
import { wordsOf } from '../traffic/installation.ts';

const DECLARED = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    level: Type.Enum(['organization', 'space', 'site']),
    webhook: Type.Boolean(),
    deprecated: Type.Boolean(),
  },
  { additionalProperties: true },
);
const CHANGE = Type.Object({
  type: Type.String(),
  change: Type.Enum(['added', 'changed', 'unchanged', 'removed']),
});
const FORCE = { help: 'also where stored events do not fit, or somebody uses a type' } as const;
const DRY_RUN = { help: 'check what would change, and change nothing' } as const;

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the event types that the product has declared',
  examples: [{ line: 'annex event-types list', does: 'see what can be posted beside the built-in types' }],
  json: Type.Object({ items: Type.Array(DECLARED) }),
  async run({ output, client, signal }) {
    const annex = await client();
    const [{ items }, words] = await Promise.all([annex.eventTypes.list({ signal }), wordsOf(annex, signal)]);
    output.list(
      { items },
      ['TYPE', 'LEVEL', 'SCOPE', 'WEBHOOK', 'TITLE'],
      ({ type, title, level, scope, webhook, deprecated }) => [
        type,
        words.level(level),
        scope?.name ?? '',
        webhook ? 'yes' : 'no',
        deprecated ? `${title} (deprecated)` : title,
      ],
      'The product has declared no event types.',
    );
  },
});

const push: Command = defineCommand({
  name: 'push',
  summary: 'make the declared event types those of a file',
  description: [
    'Reads a file, YAML or JSON, of all event types: name → declaration. Declares those that are new, changes those that differ, and deletes those that are not in it. Every change is checked before the first is made.',
  ],
  arguments: { file: { help: 'the file of event types' } },
  options: { dryRun: DRY_RUN, force: FORCE },
  examples: [
    {
      line: 'annex event-types push types.yaml --dry-run',
      does: 'see what would be added, changed and removed',
    },
    { line: 'annex event-types push types.yaml', does: 'make it so' },
  ],
  exits: { 1: 'the file has faults, or a change was refused' },
  json: Type.Object({ dryRun: Type.Boolean(), changes: Type.Array(CHANGE) }),
  async run({ output, client, cwd, signal }, { file, dryRun = false, force = false }) {
    const types = declaredIn(resolve(cwd, file), file);
    const annex = await client();
    const options = { force, signal };
    const plan = await apply(annex, types, { ...options, dryRun: true });
    const changes = dryRun ? plan : await apply(annex, types, { ...options, dryRun: false });
    output.result({ dryRun, changes }, () => {
      output.table(
        ['CHANGE', 'TYPE'],
        changes
          .filter(({ change }) => change !== 'unchanged')
          .map(({ type, change }) => [shown(change), type]),
      );
      const same = changes.filter(({ change }) => change === 'unchanged').length;
      output.talk(`${changes.length - same} ${dryRun ? 'would change' : 'changed'}, ${same} unchanged.`);
    });
  },
});

type Change = Awaited<ReturnType<Annex['eventTypes']['set']>>;

interface ApplyOptions {
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/** Those that go first: a type that takes their place may need their room. */
async function apply(
  annex: Annex,
  types: ReturnType<typeof declaredIn>,
  options: ApplyOptions,
): Promise<readonly Change[]> {
  const { force, dryRun, signal } = options;
  const { items } = await annex.eventTypes.list({ signal });
  const changes: Change[] = [];
  for (const { type } of items)
    if (!types.has(type)) changes.push(await annex.eventTypes.delete(type, { force, dryRun }, { signal }));
  for (const [type, { declaration }] of types)
    changes.push(await annex.eventTypes.set(type, declaration, options));
  return changes;
}

const COLORS = { added: 'green', changed: 'yellow', removed: 'red', unchanged: 'dim' } as const;
const shown = (change: Change['change']) => paint(COLORS[change], change);

/** The option of commands that read a folder, for what its product declares. */
export const EVENT_TYPES_OPTION = {
  value: 'file',
  help: 'file of the event types that the product declares, as annex serve takes it',
} as const;

/**
 * The types of a file.
 *
 * @param name the file as the user knows it
 * @throws Failure that lists the faults, each with its line
 */
export function declaredIn(path: string, name: string) {
  const found = readGiven(dirname(path), path);
  if (found === 'absent') throw new UsageError(`There is no file ${name}.`);
  // Attack: in a folder of somebody else, the file is a link to a secret, which messages quote.
  if (found === 'leaves') throw new UsageError(`${name} is a link out of its folder.`);
  const { types, problems } = readEventTypeFile(found.bytes.toString('utf8'));
  if (problems.length === 0) return types;
  const lines = problems.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`);
  throw new Failure(lines.join('\n'), {
    code: 'EVENT_TYPES_INVALID',
    problems: problems.map((problem) => ({ severity: 'error', file: name, ...problem })),
  });
}

const remove: Command = defineCommand({
  name: 'delete',
  summary: 'delete an event type',
  description: [
    'Refused while somebody uses the type, and the message says who. Events that were accepted are still delivered.',
  ],
  arguments: { type: { help: 'name of the type, such as invoice.paid' } },
  options: { dryRun: DRY_RUN, force: FORCE },
  examples: [{ line: 'annex event-types delete invoice.paid', does: 'delete a type that nobody uses' }],
  json: CHANGE,
  async run({ output, client, signal }, { type, dryRun = false, force = false }) {
    const change = await (await client()).eventTypes.delete(type, { dryRun, force }, { signal });
    output.result(change, () => output.line(`${type} ${dryRun ? 'would be' : 'is'} deleted.`));
  },
});

export const eventTypes: CommandGroup = {
  name: 'event-types',
  summary: 'list, push and delete the event types of the product',
  examples: [{ line: 'annex event-types push types.yaml', does: 'make the types those of a file' }],
  commands: [list, push, remove],
};
