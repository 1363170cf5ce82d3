/**
 * Writes a new integration from a template. The templates are folders of files with `{{name}}` and
 * the like in them; `common` is in each. Never writes into a folder that has files.
 */
import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from './terminal/failure.ts';

const TEMPLATES = fileURLToPath(new URL('../../packages/annex/templates/', import.meta.url));
const COMMON = 'common';
/** npm leaves out files of these names from packages, or reads them as its own. */
const DOTTED: Readonly<Record<string, string>> = { gitignore: '.gitignore', annexignore: '.annexignore' };

/** Template → what it is, in the order in which they are listed. */
export const TEMPLATE_SUMMARIES = {
  hello: 'answers HTTP requests',
  'webhook-receiver': 'receives webhooks and verifies their signatures',
  component: 'draws a block with a button and a state',
  oauth: 'connects an account at a provider, and uses it',
  'event-handler': 'handles events of the host product',
} as const;
export type Template = keyof typeof TEMPLATE_SUMMARIES;

export interface NewIntegration {
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
