/**
 * Finds the files that the entrypoint of a folder reaches, by the service's own rules: its resolver
 * of imports, its loaders and its JSX, over the folder's disk instead of an upload.
 *
 * esbuild parses the code as the bundler will, so dead branches import nothing here either. Faults
 * of the code itself are not reported: the service finds them in the upload.
 */
import { type BuildFailure, build, type Location, type Plugin } from 'esbuild';
import { withPragma } from '../../imports/jsx.ts';
import { ImportGuards, withoutRequireResolve } from '../../imports/optional-imports.ts';
import type { Resolution } from '../../imports/resolve-import.ts';
import { SDK_ENTRIES } from '../../imports/sdk-source.ts';
import { loaderOf, sourceOptions } from '../../imports/source-options.ts';
import { resolveMapped, type Tsconfig, tsconfigOf } from '../../imports/tsconfig.ts';
import { type DiskTree, type Package, type Place, pathOf, type Refusal } from './disk-tree.ts';

/** Namespace of the files of a package, with its number. */
const PACKAGE = 'package-';
const EMPTY = 'empty';
/** Value of `MODE`: that of every publish. */
const MODE = 'production';

/** An import and what it leads to, to be found again in the upload. */
export interface FoundImport {
  readonly specifier: string;
  readonly importer: Place;
  readonly kind: 'import' | 'require';
  readonly target: Place;
  /** The `tsconfig.json` that said so. */
  readonly by?: Tsconfig;
}

/** An import that leads nowhere. */
export interface ImportFault {
  readonly specifier: string;
  readonly importer: Place;
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
      const from: Place = { package: owner, path: importer.slice(owner.folder.length + 1) };
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
      const text = withoutRequireResolve(bytes, loader, (specifier) => {
        tree.searchFrom(owner);
        return !('fault' in resolveMapped(tree, specifier, path, 'require'));
      });
      return { contents: loader === 'tsx' || loader === 'jsx' ? withPragma(text) : text, loader };
    });
  },
});

const namespaceOf = ({ id }: Package): string => `${PACKAGE}${id}`;

const packageIn = ({ packages }: DiskTree, namespace: string): Package | undefined =>
  namespace.startsWith(PACKAGE) ? packages[Number(namespace.slice(PACKAGE.length))] : undefined;

/** The fault as a message of esbuild, which adds its location. */
function faultOf(tree: DiskTree, specifier: string, importer: Place, found: Resolution) {
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
