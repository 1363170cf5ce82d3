/**
 * The pages of docs/commands/, made of what the program says about its commands: an index, and a
 * page for each task.
 */
import type { Command, CommandGroup } from '../../../src/cli/command.ts';
import { type Reference, referencesOf, shapeOf } from '../../../src/cli/commands/help.ts';
import { GLOBAL_OPTIONS } from '../../../src/cli/program.ts';

interface Page {
  /** Name of the file, without its folder. */
  readonly file: string;
  readonly text: string;
}

/** The second word of each command decides its page: a group of commands is on one. */
const TASKS = [
  {
    file: 'write.md',
    title: 'Write an integration',
    about: 'From a template to a checked and tested folder.',
    commands: ['demo', 'new', 'import', 'dev', 'check', 'types', 'test'],
  },
  {
    file: 'publish.md',
    title: 'Publish it',
    about: 'Versions of an integration, and the secrets of its code.',
    commands: ['publish', 'integrations', 'versions', 'rollback', 'review', 'source-map', 'secrets'],
  },
  {
    file: 'observe.md',
    title: 'Call it and look',
    about: 'Requests, drawings and events for what is installed, its log, and what it has stored.',
    commands: ['call', 'render', 'ask', 'trigger', 'event-types', 'logs', 'tail', 'storage'],
  },
  {
    file: 'deliveries.md',
    title: 'Deliveries, webhooks and schedules',
    about:
      'What became of events, the receivers of webhooks, what the host product is told, and what runs by itself.',
    commands: ['deliveries', 'listen', 'webhook', 'notices', 'schedules'],
  },
  {
    file: 'installations.md',
    title: 'Installations',
    about: 'What is installed where, and with which configuration.',
    commands: ['install', 'uninstall', 'installations', 'configure', 'pause', 'resume', 'ui-token'],
  },
  {
    file: 'access.md',
    title: 'Access, and the command line itself',
    about:
      'Which service a command uses, tokens, organizations, the console, the portal, any route of the API, help and completions.',
    commands: [
      'login',
      'profile',
      'token',
      'organizations',
      'console',
      'portal',
      'api',
      'help',
      'completions',
    ],
  },
  {
    file: 'service.md',
    title: 'Run a service',
    about: 'Starting, checking, copying and re-keying a service on this machine.',
    commands: ['serve', 'doctor', 'backup', 'copy', 'vault'],
  },
] as const;

/** @throws Error if a command is on no page */
export function referencePages(entries: readonly (Command | CommandGroup)[]): Page[] {
  const references = referencesOf(entries);
  const tasks = TASKS.map(({ commands, ...task }) => ({
    ...task,
    references: references.filter(({ command }) => isOneOf(command, commands)),
  }));
  const missing = references.filter((one) => !tasks.some((task) => task.references.includes(one)));
  if (missing.length > 0)
    throw new Error(`no page for ${missing.map(({ command }) => command).join(', ')}: add it to TASKS`);
  return [
    { file: 'README.md', text: indexOf(tasks) },
    ...tasks.map(({ file, title, about, references: ofTask }) => ({
      file,
      text: `${[`# ${title}`, '', `${about} ${GENERATED}`, '', ...ofTask.map(sectionOf)].join('\n').trimEnd()}\n`,
    })),
  ];
}

const isOneOf = (command: string, words: readonly string[]): boolean =>
  words.includes(command.split(' ')[1] ?? '');

const GENERATED =
  'The page is generated from the program; [commands](README.md) says what all of them have in common.';

interface Task {
  readonly file: string;
  readonly title: string;
  readonly references: readonly Reference[];
}

function indexOf(tasks: readonly Task[]): string {
  const options = GLOBAL_OPTIONS.map(([flags, help]) => `| \`${flags}\` | ${help} |`);
  const groups = tasks.flatMap(({ file, title, references }) => [
    '',
    `## [${title}](${file})`,
    '',
    '| command | |',
    '|---|---|',
    ...references.map(
      ({ command, summary }) => `| [\`${command}\`](${file}#${command.replaceAll(' ', '-')}) | ${summary} |`,
    ),
  ]);
  return `${[INTRODUCTION, '| option | |', '|---|---|', ...options, ...groups].join('\n')}\n`;
}

const INTRODUCTION = `# Commands

Every command of \`annex\`, by task. The pages are generated from the program:
\`npx vitest run test/unit/cli/reference.test.ts -u\` writes them. \`annex help <command>\` prints the same in a terminal.

Each command is a client of the [API](../api.md): curl can do the same. Data is on standard output, everything else on standard
error. Without a terminal nothing is asked. Exit codes are 0 (done), 1 (refused, problems found, or no service reached) and 2
(wrong use). A signal that breaks a command off ends it with 130 or 143; a stream ends with 0.

With \`--json\`, standard output is one JSON value, or one a line for a stream. A failure is
\`{"error": {"code", "message", "hint"?, "status"?, "problems"?}}\`.

A command finds its service by the first of these: \`--profile\`; \`ANNEX_URL\` and \`ANNEX_TOKEN\`; the profile that
\`ANNEX_PROFILE\` names, else the one in use; \`http://127.0.0.1:7700\` with the token in \`data/admin-token\` of the current folder
or of one above it, as \`annex serve\` writes it. A token is sent to its own service alone.
`;

function sectionOf({ command, usage, description, ...rest }: Reference): string {
  const rows = (title: string, list: readonly (readonly [string, string])[]) =>
    list.length === 0
      ? []
      : ['', `| ${title} | |`, '|---|---|', ...list.map(([name, help]) => `| \`${name}\` | ${cell(help)} |`)];
  const examples = rest.examples.flatMap(({ line, does }) => [`# ${does}`, line]);
  const exits = rest.exits.map(({ code, meaning }) => `${code} ${meaning}`).join('; ');
  return [
    `## ${command}`,
    '',
    ['```text', usage, '```'].join('\n'),
    '',
    description.join('\n\n'),
    ...rows(
      'argument',
      rest.arguments.map(({ name, help }) => [name, help]),
    ),
    ...rows(
      'option',
      rest.options.map(({ flags, help }) => [flags, help]),
    ),
    '',
    ['```text', ...examples, '```'].join('\n'),
    '',
    `Exit codes: ${exits}.`,
    '',
    `With \`--json\`${rest.stream === null ? '' : rest.stream === 'always' ? ', a line' : `, a line with \`${rest.stream}\``}:`,
    '',
    ['```text', shapeOf(rest.json), '```', ''].join('\n'),
  ].join('\n');
}

const cell = (help: string): string => help.replaceAll('|', '\\|');
