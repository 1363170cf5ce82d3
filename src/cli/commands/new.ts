/**
 * `annex new`: writes the folder of a new integration from a template, and asks nothing. The
 * templates are folders of files with `{{name}}` and the like in them; `common` is in each.
 */
import { existsSync, readFileSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Type from 'typebox';
import { ORGANIZATION_ID, PLAIN_INTEGRATION_NAME } from '../../model/identifiers.ts';
import { ARCHIVES, archiveName } from '../../own-files.ts';
import { VERSION } from '../../version.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { Failure, UsageError } from '../terminal/failure.ts';

/** Template → what it is, in the order in which they are listed. */
export const TEMPLATE_SUMMARIES = {
  hello: 'answers HTTP requests',
  'webhook-receiver': 'receives webhooks and verifies their signatures',
  component: 'draws a block with a button and a state',
  oauth: 'connects an account at a provider, and uses it',
  'event-handler': 'handles events of the host product',
} as const;
export type Template = keyof typeof TEMPLATE_SUMMARIES;

/** The organization of a new manifest: a name to replace. */
const ORGANIZATION = 'acme';
/** How npm writes the path of a package on this disk. */
const FILE = 'file:';
const CLONE = fileURLToPath(new URL('../../..', import.meta.url)).replace(/[/\\]$/, '');
/** Whether a clone runs, which can build what is not there yet. */
const IS_CLONE = import.meta.url.endsWith('.ts');
/** Longest name of an integration. */
const NAME_CHARS_MAX = 63;

export const newCommand: Command = defineCommand({
  name: 'new',
  summary: 'write a new integration from a template',
  description: [
    'Writes a folder with a manifest, TypeScript, a test and a README. Without a template it lists them.',
    'The folder must be new or empty. Its name is the name of the integration, unless --name gives another one.',
  ],
  arguments: {
    template: {
      help: 'what to begin with',
      optional: true,
      choices: Object.keys(TEMPLATE_SUMMARIES) as Template[],
    },
    folder: { help: 'folder to write; default: the name of the template', optional: true },
  },
  options: {
    name: { value: 'name', help: 'name of the integration', parse: integrationName },
    organization: {
      value: 'id',
      help: 'organization that owns it',
      parse: organizationId,
      default: ORGANIZATION,
    },
    sdk: {
      value: 'spec',
      help: 'path or URL of the package @annex/sdk; default: the archive that a project above has it from, else the archive beside this program',
    },
    testing: {
      value: 'spec',
      help: 'the same of @annex/testing',
    },
    annex: {
      value: 'spec',
      help: 'the same of annex, this program',
    },
  },
  examples: [
    { line: 'annex new', does: 'list the templates' },
    { line: 'annex new hello', does: 'write the folder hello' },
    { line: 'annex new component my-board --organization acme', does: 'write the folder my-board, for acme' },
  ],
  json: Type.Union([
    Type.Object({ templates: Type.Array(Type.Object({ name: Type.String(), summary: Type.String() })) }),
    Type.Object({
      ...{ template: Type.String(), folder: Type.String(), name: Type.String() },
      files: Type.Array(Type.String()),
    }),
  ]),
  async run(context, { template, folder, name, organization, sdk, testing, annex }) {
    const { output, cwd } = context;
    if (template === undefined) return listed(context);
    const into = resolve(cwd, folder ?? template);
    const own = name ?? nameOf(into);
    const [sdkSpec, testingSpec, annexSpec] = [
      specOf('@annex/sdk', sdk, { into, cwd }),
      specOf('@annex/testing', testing, { into, cwd }),
      specOf('annex', annex, { into, cwd }),
    ];
    const files = await writeNew({
      template,
      folder: into,
      name: own,
      organization: String(organization),
      sdk: sdkSpec,
      testing: testingSpec,
      annex: annexSpec,
    });
    const shown = relative(cwd, into) || '.';
    output.result({ template, folder: shown, name: own, files }, () => {
      for (const file of files) output.line(`${shown}/${file}`);
    });
    const isBuilt = [sdkSpec, testingSpec, annexSpec].every(isThere);
    const build = isBuilt ? [] : [`npm run packages --prefix ${CLONE}`];
    const enter = shown === '.' ? [] : [`cd ${shown}`];
    output.talk(`Next: ${[...build, ...enter, 'npm install', 'npm run dev'].join(' && ')}`);
  },
});

function listed({ output }: CommandContext): undefined {
  const templates = Object.entries(TEMPLATE_SUMMARIES).map(([name, summary]) => ({ name, summary }));
  output.result({ templates }, () =>
    output.table(
      ['TEMPLATE', 'WHAT IT DOES'],
      templates.map(({ name, summary }) => [name, summary]),
    ),
  );
  return undefined;
}

function integrationName(text: string): string {
  if (PLAIN_INTEGRATION_NAME.test(text) && text.length <= NAME_CHARS_MAX) return text;
  throw new UsageError(
    'It is lower-case letters and digits, in groups joined by single hyphens, at most 63 characters.',
  );
}

function organizationId(text: string): string {
  if (ORGANIZATION_ID.test(text)) return text;
  throw new UsageError('It is the id of an organization: letters, digits, ".", "_" and "-".');
}

/** The name of a folder as that of an integration. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  if (PLAIN_INTEGRATION_NAME.test(name) && name.length <= NAME_CHARS_MAX) return name;
  throw new UsageError(`"${basename(folder)}" is no name for an integration.`, {
    hint: 'Give one with --name: lower-case letters, digits and hyphens.',
  });
}

/** A path is that of a package on this disk. */
const givenSpec = (spec: string, cwd: string): string =>
  existsSync(resolve(cwd, spec)) ? `${FILE}${resolve(cwd, spec)}` : spec;

/**
 * What `package.json` of the new folder says of a package. Never a version: npm would ask a
 * registry for the name, which anybody may have taken there.
 */
const specOf = (
  name: string,
  given: string | undefined,
  { into, cwd }: { into: string; cwd: string },
): string => {
  if (given !== undefined) return givenSpec(given, cwd);
  return packedSpec(name, dirname(into)) ?? archiveSpec(name);
};

/** The archive beside this program. In a clone it may still have to be made. */
function archiveSpec(name: string): string {
  const file = archiveName(name, VERSION);
  const spec = `${FILE}${fileURLToPath(new URL(file, ARCHIVES))}`;
  if (IS_CLONE || isThere(spec)) return spec;
  const option = name === 'annex' ? 'annex' : name.slice('@annex/'.length);
  const hint = `Name one: --${option} https://SERVICE/v1/packages/${file} has it from a service.`;
  throw new UsageError(`This program has no archive of ${name}.`, { hint });
}

const isThere = (spec: string): boolean => !spec.startsWith(FILE) || existsSync(spec.slice(FILE.length));

/** The archive that the nearest project above has a package from. */
function packedSpec(name: string, folder: string): string | undefined {
  const spec = specIn(name, join(folder, 'package.json'));
  if (spec?.startsWith(FILE)) return `${FILE}${resolve(folder, spec.slice(FILE.length))}`;
  if (spec !== undefined && /^https?:/.test(spec)) return spec;
  return spec !== undefined || dirname(folder) === folder ? undefined : packedSpec(name, dirname(folder));
}

function specIn(name: string, file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(file, 'utf8'));
    const spec: unknown = { ...devDependencies, ...dependencies }[name];
    return typeof spec === 'string' ? spec : undefined;
  } catch {
    // It is of another project, and not for this command to report.
    return undefined;
  }
}

const TEMPLATES = fileURLToPath(new URL('../../../packages/annex/templates/', import.meta.url));
const COMMON = 'common';
/** npm leaves out files of these names from packages, or reads them as its own. */
const DOTTED: Readonly<Record<string, string>> = { gitignore: '.gitignore', annexignore: '.annexignore' };

interface NewIntegration {
  readonly template: Template;
  /** Absolute path. */
  readonly folder: string;
  readonly name: string;
  readonly organization: string;
  /** Version or place of `@annex/sdk` for `package.json`. */
  readonly sdk: string;
  /** The same of `@annex/testing`, and of `annex`, which runs its tests. */
  readonly testing: string;
  readonly annex: string;
}

/** @returns paths of the files that were written. @throws Failure where the folder has files */
export async function writeNew({ template, folder, ...words }: NewIntegration): Promise<string[]> {
  // Attack: `hello` in a cloned folder is a link to a folder whose programs the machine starts.
  if ((await lstat(folder).catch(() => undefined))?.isSymbolicLink())
    throw new Failure(`${folder} is a link, so nothing is written to where it leads.`, {
      code: 'FOLDER_UNUSABLE',
      hint: 'Give the name of a new folder, or the one that it leads to.',
    });
  await mkdir(folder, { recursive: true });
  const there = await readdir(folder);
  if (there.some((name) => name !== '.git')) {
    const hint = 'Give the name of a new folder: annex new <template> <folder>';
    throw new Failure(`${folder} is not empty.`, { code: 'FOLDER_NOT_EMPTY', hint });
  }
  const values = new Map(Object.entries({ ...words, title: titleOf(words.name) }));
  const written: string[] = [];
  for (const source of [join(TEMPLATES, COMMON), join(TEMPLATES, template)]) {
    for (const path of await filesIn(source)) {
      const into = join(dirname(path), DOTTED[path] ?? path.slice(path.lastIndexOf('/') + 1));
      const text = await readFile(join(source, path), 'utf8');
      await mkdir(join(folder, dirname(into)), { recursive: true });
      await writeFile(join(folder, into), filled(text, values), { flag: 'wx' });
      written.push(into);
    }
  }
  return written.sort();
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
}

/** The blanks are `{{word}}`; expressions of manifests are `${{ env.WORD }}`. */
const filled = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\{\{(\w+)\}\}/g, (blank, word: string) => values.get(word) ?? blank);

/** `my-board` → `My board`. */
const titleOf = (name: string): string => {
  const words = name.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};
