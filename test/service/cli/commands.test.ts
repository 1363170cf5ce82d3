/**
 * Every command of `annex`: its help, a success for people and for programs, and its failures, all
 * without a terminal. The rows are in `test/support/cli/cases/`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Schema from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Command, type CommandGroup, isGroup } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/local/commands.ts';
import { annex, type Invocation, type Ran } from '../../support/cli/annex-run.ts';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';
import { COMMAND_CASES } from '../../support/cli/command-cases.ts';
import { CommandWorld } from '../../support/cli/command-world.ts';
import { at } from '../../support/cli/traffic-world.ts';
import { ROOT } from '../../support/repository/sources.ts';

/** What `--json` prints where a command fails. */
const FAILURE = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', pattern: '^[A-Z][A-Z_]+$' },
        message: { type: 'string', minLength: 1 },
        hint: { type: 'string' },
        status: { type: 'integer' },
        problems: { type: 'array' },
      },
    },
  },
} as const;

let world: CommandWorld;
beforeAll(async () => {
  world = await CommandWorld.start();
});
afterAll(() => world.stop());

const commands = new Map<string, Command>(
  COMMANDS.flatMap((entry): [string, Command][] =>
    isGroup(entry)
      ? entry.commands.map((command) => [`${entry.name} ${command.name}`, command])
      : [[entry.name, entry]],
  ),
);
const groups = COMMANDS.filter((entry): entry is CommandGroup => isGroup(entry));
const withJson = ({ words, ...rest }: Invocation): Invocation => {
  const end = words.indexOf('--');
  const at = end === -1 ? words.length : end;
  return { ...rest, words: [...words.slice(0, at), '--json', ...words.slice(at)] };
};

/** The values that `--json` printed: one, or one a line. */
function values({ stream }: Command, { words }: Invocation, ran: Ran): unknown[] {
  const isStream = typeof stream === 'string' ? words.includes(`--${stream}`) : stream === true;
  return isStream ? ran.lines() : [ran.json()];
}

describe('the table', () => {
  test('has one row for each command, and for no other', () => {
    expect(COMMAND_CASES.map(({ command }) => command).sort()).toEqual([...commands.keys()].sort());
  });
});

const levels: { title: string; words: readonly string[] }[] = [
  { title: 'annex', words: [] },
  ...groups.map(({ name }) => ({ title: `annex ${name}`, words: [name] })),
];
describe.each(levels)('$title', ({ words }) => {
  test('shows its commands and examples with --help', async () => {
    const { code, stdout, stderr } = await annex({ words: [...words, '--help'] });
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^Usage: annex .*^Commands:$.*^Examples:$/ms);
  });

  test('without a command shows the same on standard error, as a usage error', async () => {
    const { code, stdout, stderr } = await annex({ words });
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^Examples:$/m);
  });
});

describe.each(COMMAND_CASES)('annex $command', ({ command: name, failures, ...row }) => {
  const command = commands.get(name) as Command;

  test('shows its usage, examples and exit codes with --help', async () => {
    const { code, stdout, stderr } = await annex({ words: [...name.split(' '), '--help'] });
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toContain(`Usage: annex ${name} `);
    expect(stdout).toMatch(/^Examples:$.*^Exit codes:$/ms);
    for (const { line } of command.examples) expect(stdout).toContain(line);
  });

  if ('successIn' in row) {
    test('does its work in another test', () => {
      expect(readFileSync(join(ROOT, row.successIn), 'utf8')).toContain(`words: ['${name}'`);
    });
  } else {
    test('does its work', async () => {
      const ran = await annex(await row.success(world));
      expect({ ...ran }).toMatchObject({ code: 0 });
      expect(ran.stdout).toMatch(row.shows);
    });

    test('prints with --json what its schema says, and nothing else', async () => {
      const invocation = withJson(await row.success(world));
      const ran = await annex(invocation);
      expect({ ...ran }).toMatchObject({ code: 0 });
      const printed = values(command, invocation, ran);
      expect(printed).not.toEqual([]);
      for (const value of printed) expect(Schema.Errors(command.json, value)[1]).toEqual([]);
    });
  }

  test.each(failures)('says what is wrong: $title', async ({ run, code, says }) => {
    const invocation = await run(world);
    const ran = await annex(invocation);
    expect({ ...ran }).toMatchObject({ code });
    expect(ran.stderr).toMatch(says);
    const isStream = command.stream !== undefined;
    if (!isStream) expect(ran.stdout).toBe('');
    const again = await annex(withJson(await run(world)));
    expect(again.code).toBe(code);
    const failure = isStream ? again.lines().at(-1) : again.json();
    expect(Schema.Errors(FAILURE, failure)[1]).toEqual([]);
  });
});

test('annex check shows each problem at its place, with the line and a mark below it', async () => {
  const cwd = await folderWith({
    'platform-manifest.yaml': manifestOf('broken-check'),
    'src/index.ts': 'export default ;\n',
  });
  const { code, stdout, stderr } = await annex({ words: ['check'], cwd, env: world.env });
  expect(stdout).toMatch(
    /^src\/index\.ts:1:16: error: Unexpected ";"\n +1 \| export default ;\n +\| {16}\^$/m,
  );
  expect(stderr).toMatch(/^Checked by http:/m);
  expect(code).toBe(1);
});

test('annex webhook test shows the delivery of a receiver that has not answered, and fails', async () => {
  const words = ['webhook', 'test', 'webhook', '--site', 'docs', '--timeout', '0.5'];
  const { code, stdout, stderr } = await annex(await at(world, words));
  expect(stdout).toMatch(/site_view +webhook@acme +pending +\d +dns/);
  expect(stderr).toMatch(/After 0\.5 s, the delivery is still pending/);
  expect(code).toBe(1);
});
