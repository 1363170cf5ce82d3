/**
 * Finds the files that the entrypoint of a folder reaches, by the service's own rules: its resolver
 * of imports, its loaders and its JSX, over the folder's disk instead of an upload.
 *
 * esbuild parses the code as the bundler will, so dead branches import nothing here either. Faults
 * of the code itself are not reported: the service finds them in the upload.
 */

import { existsSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { type BuildFailure, build, type Location, type Plugin } from 'esbuild';
import { withPragma } from '../../imports/jsx.ts';
import { ImportGuards, withoutRequireResolve } from '../../imports/optional-imports.ts';
import type { Resolution } from '../../imports/resolve-import.ts';
import { SDK_ENTRIES } from '../../imports/sdk-source.ts';
import { isSource, loaderOf, namedFiles, sourceOptions } from '../../imports/source-options.ts';
import { resolveMapped, type Tsconfig, tsconfigOf } from '../../imports/tsconfig.ts';
import { type Problem, problem } from '../../model/problem.ts';
import { nearest } from '../../model/spelling-hint.ts';
import {
  type DiskTree,
  type FileInPackage,
  nameOf,
  type Package,
  pathOf,
  type Refusal,
  toDisk,
} from './disk-tree.ts';
import { IGNORE_FILE } from './never-uploaded.ts';

/** Namespace of the files of a package, with its number. */
const PACKAGE = 'package-';
const EMPTY = 'empty';
/** Value of `MODE`: that of every publish. */
const MODE = 'production';

/** An import and what it leads to, to be found again in the upload. */
export interface FoundImport {
  readonly specifier: string;
  readonly importer: FileInPackage;
  readonly kind: 'import' | 'require';
  readonly target: FileInPackage;
  /** The `tsconfig.json` that said so. */
  readonly by?: Tsconfig;
}

/** An import that leads nowhere. */
interface ImportFault {
  readonly specifier: string;
  readonly importer: FileInPackage;
  /** Absent where esbuild made the import itself, for JSX. */
  readonly location?: Location;
  readonly message: string;
  readonly hint: string;
  /** What the import means and is not uploaded. */
  readonly refused?: Refusal;
}

export interface Reached {
  readonly imports: readonly FoundImport[];
  readonly faults: readonly ImportFault[];
  /** The `tsconfig.json` of the entrypoint. */
  readonly tsconfig?: Tsconfig;
}

/**
 * Follows all imports from the entrypoint; `tree` remembers the files.
 *
 * @param entry path of the entrypoint in the folder, where there is a file
 */
export async function reachFiles(tree: DiskTree, entry: string): Promise<Reached> {
  const imports: FoundImport[] = [];
  const start = pathOf({ package: tree.root, path: entry });
  tree.searchFrom(tree.root);
  const config = tsconfigOf(tree, start);
  const tsconfig = config && { tsconfig: config };
  try {
    await build({
      ...sourceOptions(tree, start, MODE),
      entryPoints: [start],
      plugins: [reachingFiles(tree, imports)],
      outdir: 'out',
      sourcemap: false,
    });
    return { imports, faults: [], ...tsconfig };
  } catch (cause) {
    const { errors } = cause as Partial<BuildFailure>;
    if (errors === undefined) throw cause;
    const faults = errors.flatMap(({ detail, location }): ImportFault[] =>
      isFault(detail) ? [{ ...detail.fault, ...(location && { location }) }] : [],
    );
    return { imports, faults, ...tsconfig };
  }
}

const reachingFiles = (tree: DiskTree, imports: FoundImport[]): Plugin => ({
  name: 'reached-files',
  setup({ onResolve, onLoad }) {
    const guards = new ImportGuards();
    onResolve({ filter: /.*/ }, async ({ path, importer, kind, namespace, with: attributes }) => {
      if (kind === 'entry-point') return { path, namespace: namespaceOf(tree.root) };
      const owner = packageIn(tree, namespace);
      if (owner === undefined || SDK_ENTRIES.has(path)) return { path, external: true };
      const manner = kind === 'require-call' ? 'require' : 'import';
      tree.searchFrom(owner);
      const found = resolveMapped(tree, path, importer, manner);
      if ('empty' in found) return { path: EMPTY, namespace: EMPTY };
      if ('node' in found) return { path, external: true };
      const from: FileInPackage = { package: owner, path: importer.slice(owner.folder.length + 1) };
      const target = 'path' in found ? tree.locate(found.path) : undefined;
      const importable = target && loaderOf(target.path, attributes['type']) !== undefined;
      const file = { path: importer, source: owner.files.get(from.path)?.bytes };
      if (!importable && (await guards.guardOf({ ...file, loader: loaderOf(importer, '') }, path, kind))) {
        target?.package.files.delete(target.path);
        return { path: EMPTY, namespace: EMPTY };
      }
      if (target === undefined) return { errors: [faultOf(tree, path, from, found)] };
      const by = 'by' in found && found.by && { by: found.by };
      imports.push({ specifier: path, importer: from, kind: manner, target, ...by });
      return { path: pathOf(target), namespace: namespaceOf(target.package) };
    });
    onLoad({ filter: /.*/ }, ({ path, namespace, with: attributes }) => {
      const owner = packageIn(tree, namespace);
      const loader = loaderOf(path, attributes['type']);
      const bytes = owner?.files.get(path.slice(owner.folder.length + 1))?.bytes;
      // The rest is nothing of the upload: an empty module, or a file that a pattern matched.
      if (owner === undefined || bytes === undefined || loader === undefined)
        return { contents: '', loader: 'js' };
      if (isSource(loader) && owner.id === 0) readNamedFiles(tree, owner, path, bytes);
      const text = withoutRequireResolve(bytes, loader, (specifier) => {
        tree.searchFrom(owner);
        return !('fault' in resolveMapped(tree, specifier, path, 'require'));
      });
      return { contents: loader === 'tsx' || loader === 'jsx' ? withPragma(text) : text, loader };
    });
  },
});

/** Reads what the author's own code names by `new URL('./file', import.meta.url)`. */
function readNamedFiles(tree: DiskTree, owner: Package, importer: string, source: Uint8Array): void {
  const folder = posix.dirname(importer.slice(owner.folder.length + 1));
  for (const named of namedFiles(String(source))) {
    const path = posix.join(folder, named);
    if (!path.startsWith('../')) tree.read({ package: owner, path });
  }
}

const namespaceOf = ({ id }: Package): string => `${PACKAGE}${id}`;

const packageIn = ({ packages }: DiskTree, namespace: string): Package | undefined =>
  namespace.startsWith(PACKAGE) ? packages[Number(namespace.slice(PACKAGE.length))] : undefined;

/** The fault as a message of esbuild, which adds its location. */
function faultOf(tree: DiskTree, specifier: string, importer: FileInPackage, found: Resolution) {
  const { fault, hint } =
    'fault' in found ? found : { fault: `"${specifier}" is not in the folder.`, hint: '' };
  const refused = tree.refused[0];
  const detail: Faulty = {
    fault: { specifier, importer, message: fault, hint, ...(refused && { refused }) },
  };
  return { text: fault, detail };
}

interface Faulty {
  readonly fault: ImportFault;
}

const isFault = (detail: unknown): detail is Faulty =>
  typeof detail === 'object' && detail !== null && 'fault' in detail;

/** Most names of a folder that are compared with a wrong one. */
const NAMES_MAX = 200;

interface Words {
  readonly message: string;
  readonly hint?: string;
}

/** @param fileOf path in the upload of a file */
export function importProblem(fault: ImportFault, fileOf: (place: FileInPackage) => string): Problem {
  const { importer, location, refused } = fault;
  const { message, hint } = refused === undefined ? wordsOf(fault) : refusalWords(refused, fault.specifier);
  const at = location && { line: location.line, column: location.column + 1 };
  return problem(message, { file: fileOf(importer), ...at, ...(hint !== undefined && { hint }) });
}

function refusalWords(refused: Refusal, specifier: string): Words {
  if (refused.why === 'foreign')
    return {
      message: `"${specifier}" leads to ${refused.folder}, which is no package of the folder or of its workspace.`,
      hint: hintFor(refused.folder),
    };
  const { place, why } = refused;
  const name = JSON.stringify(place.path);
  if (why === 'secret')
    return {
      message: `The file ${name} is never uploaded: files of this name hold credentials.`,
      hint: 'Declare the value under "secrets" of the manifest, and read it from environment.secrets.',
    };
  if (why === 'ignored')
    return {
      message: `The file ${name} is imported, and ${IGNORE_FILE} excludes it from the upload.`,
      hint: `Remove the line from ${IGNORE_FILE}, or add one with "!" before the path.`,
    };
  return {
    message: `"${specifier}" is a link to a file outside of ${place.package.id === 0 ? 'the folder' : 'its package'}.`,
    hint: 'Copy the file into the folder, or make it a package of a workspace.',
  };
}

const hintFor = (folder: string): string =>
  folder.includes('/pnpm/') && folder.includes('/links/')
    ? 'Set "enableGlobalVirtualStore: false" in pnpm-workspace.yaml, and run "pnpm install".'
    : 'Install it in the folder (npm install --install-links copies a package of this disk), or declare both in "workspaces" of a package.json above.';

function wordsOf(fault: ImportFault): Words {
  const { specifier, importer } = fault;
  if (/^\.\.?(\/|$)/.test(specifier)) return relativeWords(specifier, importer);
  if (!/^(?:@[^/:]+\/)?[^/:@#.~_][^:]*$/.test(specifier) || fault.message.includes(' is mapped by '))
    return fault;
  const [name = specifier] = /^(?:@[^/]+\/)?[^/]+/.exec(specifier) ?? [];
  if (fault.message.includes('offers no'))
    return {
      message: `The package "${name}" offers no "${specifier}".`,
      hint: 'Look at "exports" in its package.json, and whether its installation is whole.',
    };
  return { message: `The package "${name}" is not installed.`, hint: installHint(name, importer.package) };
}

function relativeWords(specifier: string, importer: FileInPackage): Words {
  const wanted = posix.join(posix.dirname(pathOf(importer)), specifier);
  const { folder, id } = importer.package;
  if (!wanted.startsWith(`${folder}/`) && wanted !== folder) {
    const hint =
      id === 0
        ? 'Move the file into the folder, make it a package of a workspace, or publish the folder above with --manifest.'
        : 'A package can import its own files, and other packages by their names.';
    return { message: `"${specifier}" leaves ${id === 0 ? 'the folder' : 'its package'}.`, hint };
  }
  const near = nearest(posix.basename(wanted), namesIn(posix.dirname(wanted)));
  const shown = wanted.slice(folder.length + 1);
  const hint =
    near === undefined
      ? `There is no ${shown === '' ? 'index file' : `"${shown}"`}, with or without an extension.`
      : `Did you mean "${near}"?`;
  return { message: `"${specifier}" does not exist.`, hint };
}

/** Names of a folder, with and without their extensions. */
function namesIn(folder: string): string[] {
  try {
    const names = readdirSync(toDisk(folder)).slice(0, NAMES_MAX);
    return names.flatMap((name) => [name, name.replace(/\.\w+$/, '')]);
  } catch {
    return [];
  }
}

function installHint(name: string, importer: Package): string {
  if (importer.id !== 0)
    return `The package "${nameOf(importer)}" needs "${name}": install "${name}", or run "npm install" again.`;
  for (let folder = importer.folder; folder.includes('/'); folder = posix.dirname(folder)) {
    if (existsSync(toDisk(`${folder}/.pnp.cjs`)))
      return 'Yarn keeps packages in archives here. Write "nodeLinker: node-modules" to .yarnrc.yml and run "yarn install".';
  }
  // Attack: a package that somebody else publishes under a name of ours.
  if (name === 'annex' || name.startsWith('@annex/'))
    return 'Install its archive, which no registry has: "GET /v1/packages" of the service lists them.';
  const isDeclared = existsSync(toDisk(`${importer.folder}/package.json`));
  return isDeclared
    ? `Run "npm install ${name}" in the folder, or "npm install" where package.json has it already.`
    : `Run "npm init -y" and "npm install ${name}" in the folder.`;
}
