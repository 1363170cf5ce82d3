/**
 * Bundles `@annex/components` with esbuild: the sources of this package and the libraries in them
 * make one module without imports, so that a page needs no bundler of its own.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** The module that makes `<annex-component>` known to a page. */
export async function componentsModule(): Promise<string> {
  const { outputFiles } = await build({ ...OPTIONS, entryPoints: ['src/index.ts'] });
  return outputFiles[0]?.text ?? '';
}

/** Leaves the imports of the tags as they are, so that a page has each once. */
const leaveModules = (folder: string): Plugin => ({
  name: 'leave-modules',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\.?\/(index|configuration|webhooks)\.ts$/ }, ({ path }) => ({
      path: `${folder}/${/index|configuration|webhooks/.exec(path)?.[0]}.js`,
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
