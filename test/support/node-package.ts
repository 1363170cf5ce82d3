/**
 * Uploads code with packages of npm as the tool of an author does: the files of `node_modules` that
 * the bundle needs, unchanged, with the `package.json` of each folder above them. Many packages
 * have more files than an upload may have.
 */
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A package may be named as a module of Node.js with a slash at its end: `punycode/`. */
const NODE_MODULES = new Set(builtinModules);

/**
 * The files of an upload: `index.js`, and what it needs of `node_modules`.
 *
 * @param source of `index.js`, which imports packages by their names
 */
export async function withNodePackages(source: string): Promise<Record<string, string>> {
  const { metafile } = await build({
    stdin: { contents: source, resolveDir: ROOT, sourcefile: 'index.js' },
    absWorkingDir: ROOT,
    bundle: true,
    metafile: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['worker', 'production'],
    mainFields: ['worker', 'browser', 'module', 'main'],
    define: { 'process.env.NODE_ENV': '"production"' },
    external: ['node:*', '@annex/sdk'],
    plugins: [
      {
        name: 'node-modules-stay',
        setup({ onResolve }) {
          onResolve({ filter: /^[a-z_0-9/]+$/ }, ({ path }) =>
            NODE_MODULES.has(path) ? { path, external: true } : undefined,
          );
        },
      },
    ],
    logLevel: 'silent',
  });
  const paths = Object.keys(metafile.inputs).filter((path) => path.startsWith('node_modules/'));
  const files = new Set([...paths, ...paths.flatMap(manifestsAbove)]);
  const read = (path: string) => [path, readFileSync(`${ROOT}${path}`, 'utf8')] as const;
  return { 'index.js': source, ...Object.fromEntries([...files].map(read)) };
}

/** `node_modules/a/dist/b.js` → `package.json` of `node_modules/a/dist` and `node_modules/a`. */
function manifestsAbove(path: string): string[] {
  const folders = path.split('/').slice(0, -1);
  return folders
    .map((_, at) => [...folders.slice(0, at + 1), 'package.json'].join('/'))
    .filter((manifest) => existsSync(`${ROOT}${manifest}`));
}
