/**
 * Bundles `@annex/components` with esbuild: the sources of this package and the libraries in them
 * make one module without imports, so that a page needs no bundler of its own.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DecodingMode, decodeHTMLStrict, EntityDecoder, htmlDecodeTree } from 'entities/decode';
import { type BuildOptions, build, type Plugin } from 'esbuild';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

const OPTIONS = {
  absWorkingDir: FOLDER,
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  minify: true,
  legalComments: 'eof',
  // The settings of the package, whatever the folder of the process has.
  tsconfig: join(FOLDER, 'tsconfig.json'),
} as const satisfies BuildOptions;

/** Names of characters that begin with a text, such as `copy`, with what each is. */
function* namedCharacters(begin = ''): Generator<readonly [name: string, character: string]> {
  for (const next of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789') {
    const name = begin + next;
    const decoder = new EntityDecoder(htmlDecodeTree, () => undefined);
    decoder.startEntity(DecodingMode.Strict);
    const isBeginning = decoder.write(name, 0) === -1;
    if (!isBeginning) continue;
    const character = decodeHTMLStrict(`&${name};`);
    if (character !== `&${name};`) yield [name, character];
    yield* namedCharacters(name);
  }
}

/** A module with `decodeHTMLStrict` of one named character, by a list that compresses to half. */
function entitiesModule(): string {
  const names = Map.groupBy(namedCharacters(), ([, character]) => character);
  const list = [...names]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([character, its]) => [character, ...its.map(([name]) => name)].join(' '));
  return `let characters;
    export function decodeHTMLStrict(text) {
      characters ??= new Map(${JSON.stringify(list)}.flatMap((line) => {
        const [character, ...names] = line.split(' ');
        return names.map((name) => ['&' + name + ';', character]);
      }));
      return characters.get(text) ?? text;
    }`;
}

/**
 * Libraries of the reader of Markdown that would be a third of the module: the names of characters,
 * and links in plain text, which it does not look for.
 */
const SMALLER: Plugin = {
  name: 'smaller',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(entities|linkify-it)$/ }, ({ path }) => ({ path, namespace: 'smaller' }));
    onLoad({ filter: /./, namespace: 'smaller' }, ({ path }) => ({
      contents: path === 'entities' ? entitiesModule() : 'export class LinkifyIt {}',
    }));
  },
};

/** The module that makes `<annex-component>` known to a page. */
export async function componentsModule(): Promise<string> {
  const { outputFiles } = await build({ ...OPTIONS, entryPoints: ['src/index.ts'], plugins: [SMALLER] });
  return outputFiles[0]?.text ?? '';
}

/** Leaves the imports of the tags as they are, so that a page has each once. */
const leaveModules = (folder: string): Plugin => ({
  name: 'leave-modules',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\.?\/(index|configuration|webhooks|insert-menu)\.ts$/ }, ({ path }) => ({
      path: `${folder}/${/index|configuration|webhooks|insert-menu/.exec(path)?.[0]}.js`,
      external: true,
      sideEffects: true,
    })),
});

/**
 * The module that makes a tag known: `<annex-configuration>`, `<annex-webhooks>`, which imports it,
 * or `<annex-insert-menu>`. They load that of the components where they show one. @param folder of
 * those modules
 */
export async function tagModule(
  name: 'configuration' | 'webhooks' | 'insert-menu',
  folder: string,
): Promise<string> {
  const entryPoints = [`src/${name}.ts`];
  // The entry itself is not left out: it is not imported.
  const { outputFiles } = await build({ ...OPTIONS, entryPoints, plugins: [leaveModules(folder)] });
  return outputFiles[0]?.text ?? '';
}

/** The wrapper for React, which imports React and the tags. @param folder of their modules */
export async function reactModule(folder: string): Promise<string> {
  const plugins = [leaveModules(folder)];
  const entryPoints = ['src/react.ts'];
  const { outputFiles } = await build({ ...OPTIONS, entryPoints, plugins, external: ['react'] });
  return outputFiles[0]?.text ?? '';
}

/** Writes the modules of the package. */
export async function buildComponents(into: string): Promise<void> {
  await mkdir(into, { recursive: true });
  await writeFile(join(into, 'index.js'), await componentsModule());
  for (const name of ['configuration', 'webhooks', 'insert-menu'] as const)
    await writeFile(join(into, `${name}.js`), await tagModule(name, '.'));
  await writeFile(join(into, 'react.js'), await reactModule('.'));
}
