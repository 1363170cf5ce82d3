/** Installing, configuring, pausing and removing. */
import type { Invocation } from '../annex-run.ts';
import type { CommandCase, FailingRun } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';
import { noService, noToken, unknownToken } from '../service-failures.ts';

let organizations = 0;
const newOrganization = (): string => {
  organizations += 1;
  return `cli-org-${organizations}`;
};

/** The words, with the name of a new installation of `cli-shared` behind the command. */
async function onInstalled(world: CommandWorld, command: string, ...words: string[]): Promise<Invocation> {
  const organization = newOrganization();
  const name = await world.shared();
  await world.service.install(name, organization);
  return { words: [command, `${name}@${organization}`, ...words], env: world.env };
}

/** The same with an installation that has settings. */
async function onSettings(world: CommandWorld, ...words: string[]): Promise<Invocation> {
  const organization = newOrganization();
  const name = await world.settings();
  await world.service.install(name, organization);
  return { words: ['configure', `${name}@${organization}`, ...words], env: world.env };
}

const notInstalled = (command: string): FailingRun => ({
  title: 'what is not installed',
  run: async (world) => ({ words: [command, `${await world.shared()}@nobody`], env: world.env }),
  code: 1,
  says: /is not installed for "nobody"\.\nInstall it: annex install/,
});
const wrongWord = (command: string): FailingRun => ({
  title: 'a word that names no installation',
  run: (world) => ({ words: [command, '../tokens'], env: world.env }),
  code: 2,
  says: /"\.\.\/tokens" is not id of an installation/,
});

export const INSTALLATION_CASES: readonly CommandCase[] = [
  {
    command: 'install',
    success: async (world) => ({
      words: ['install', await world.shared(), '--organization', newOrganization(), '--space', 'garden'],
      env: world.env,
    }),
    shows: /^cli-shared@cli-org-\d+ is active: ins_\w+\/garden\n {2}endpoint {2}http/,
    failures: [
      {
        title: 'no organization',
        run: (world) => ({ words: ['install', 'hello'], env: world.env }),
        code: 2,
        says: /Required option '--organization <organization>' not specified/,
      },
      {
        title: 'an integration that is not published',
        run: (world) => ({ words: ['install', 'nothing', '--organization', 'acme'], env: world.env }),
        code: 1,
        says: /There is no integration "nothing"/,
      },
      {
        title: 'what is installed already',
        run: async (world) => {
          const name = await world.shared();
          await world.service.api('POST', `/v1/integrations/${name}/installations`, {
            json: { organization: 'twice' },
          });
          return { words: ['install', name, '--organization', 'twice'], env: world.env };
        },
        code: 1,
        says: /already installed/,
      },
    ],
  },
  {
    command: 'installations',
    success: async (world) => {
      await onInstalled(world, 'installations');
      return { words: ['installations'], env: world.env };
    },
    shows: /^INSTALLATION +INTEGRATION.*^ins_\w+ +cli-shared +cli-org-\d+ +active +http/ms,
    failures: [noService(['installations']), noToken(['installations']), unknownToken(['installations'])],
  },
  {
    command: 'uninstall',
    success: (world) => onInstalled(world, 'uninstall'),
    shows: /^cli-shared@cli-org-\d+ is removed\.$/m,
    failures: [notInstalled('uninstall'), wrongWord('uninstall'), noService(['uninstall', 'hello@acme'])],
  },
  {
    command: 'pause',
    success: (world) => onInstalled(world, 'pause'),
    shows: /is paused: ins_/,
    failures: [notInstalled('pause'), wrongWord('pause'), noService(['pause', 'hello@acme'])],
  },
  {
    command: 'resume',
    success: (world) => onInstalled(world, 'resume'),
    shows: /is active: ins_/,
    failures: [notInstalled('resume'), wrongWord('resume'), noToken(['resume', 'hello@acme'])],
  },
  {
    command: 'ui-token',
    success: (world) => onInstalled(world, 'ui-token'),
    shows: /^annex_ui_\S+$/m,
    failures: [
      notInstalled('ui-token'),
      wrongWord('ui-token'),
      {
        title: 'more than an hour',
        run: (world) => onInstalled(world, 'ui-token', '--minutes', '61'),
        code: 2,
        says: /from 1 to 60/,
      },
    ],
  },
  {
    command: 'configure',
    success: (world) => onSettings(world, 'greeting=Good day', 'times=2', 'loud=true'),
    shows: /^greeting +Good day +Hello \| Good day$.*^times +2 +number +required$.*^loud +true /ms,
    failures: [
      {
        title: 'a setting that there is not',
        run: (world) => onSettings(world, 'greting=Hello'),
        code: 2,
        says: /has no setting "greting"\. Did you mean greeting\?/,
      },
      {
        title: 'a value of another type',
        run: (world) => onSettings(world, 'times=often'),
        code: 2,
        says: /times must be a number; it is "often"\./,
      },
      {
        title: 'a choice that there is not',
        run: (world) => onSettings(world, 'greeting=Good dya'),
        code: 2,
        says: /greeting must be one of Hello, Good day; it is "Good dya"\. Did you mean Good day\?/,
      },
      {
        title: 'a file that there is not',
        run: (world) => onSettings(world, '--file', 'absent.yaml'),
        code: 1,
        says: /absent\.yaml cannot be read/,
      },
      notInstalled('configure'),
    ],
  },
];
