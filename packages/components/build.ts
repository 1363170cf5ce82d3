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

/** Leaves the import of the tag as it is, so that a page with the wrapper has it once. */
const leaveModule = (path: string): Plugin => ({
  name: 'leave-module',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\/index\.ts$/ }, () => ({ path, external: true, sideEffects: true })),
});

/** The wrapper for React, which imports React and the tag. @param path of the module of the tag */
export async function reactModule(path: string): Promise<string> {
  const plugins = [leaveModule(path)];
  const entryPoints = ['src/react.ts'];
  const { outputFiles } = await build({ ...OPTIONS, entryPoints, plugins, external: ['react'] });
  return outputFiles[0]?.text ?? '';
}

/** Writes the modules of the package. */
export async function buildComponents(into: string): Promise<void> {
  await mkdir(into, { recursive: true });
  await writeFile(join(into, 'index.js'), await componentsModule());
  await writeFile(join(into, 'react.js'), await reactModule('./index.js'));
}
