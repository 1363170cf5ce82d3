/**
 * Makes the upload of a folder: the manifest, the images that it names, and exactly the files that
 * the entrypoint reaches, in the folder and in its packages.
 *
 * Nothing is sent here. What only the service can judge is not judged here: an upload is also made
 * of a folder with a wrong manifest or with broken code, so that one answer lists all problems.
 */
import { readdirSync, statSync } from 'node:fs';
import { isAbsolute, join, posix, relative, resolve, sep } from 'node:path';
import { resolveMapped } from '../../imports/tsconfig.ts';
import { DEFAULT_LIMITS } from '../../limits.ts';
import { absentHint } from '../../model/manifest/absent-file.ts';
import { findManifest } from '../../model/manifest/find-manifest.ts';
import { assetsOf, imagesOf } from '../../model/manifest/image.ts';
import { checkManifest, type Manifest, type PlaceOf } from '../../model/manifest/manifest.ts';
import { staticPathIn } from '../../model/manifest/static-files.ts';
import { takesRequests } from '../../model/manifest/worker.ts';
import { readYaml, YAML_BYTES_MAX } from '../../model/manifest/yaml-source.ts';
import { type Problem, problem } from '../../model/problem.ts';
import { readGiven, readInside, realPath } from '../../real-files.ts';
import { DiskTree, type FileInPackage, nameOf, pathOf, toDisk } from './disk-tree.ts';
import { exclusionBy, IGNORE_FILE, isSecretFile } from './never-uploaded.ts';
import { folderFault, isOfHome, manifestFault } from './package-reach.ts';
import { type FoundImport, importProblem, type Reached, reachFiles } from './reach-files.ts';
import { layOut, type PackageLayout, writtenConfigs } from './upload-layout.ts';
import { WRANGLER_FILES } from './wrangler-file.ts';

/** Largest `.annexignore` that is read. */
const IGNORE_BYTES_MAX = 64 * 1024;
const STATIC_FILES_READ_MAX = 10 * DEFAULT_LIMITS.staticFiles;

export interface FolderRequest {
  /** Absolute path. */
  readonly folder: string;
  /** Path of the manifest in the folder; else the one that is found. */
  readonly manifest?: string;
  /** Environment of the manifest. */
  readonly environment?: string;
  /** Path of a ready script, which is sent instead of the entrypoint. */
  readonly script?: string;
}

interface UploadedFile {
  readonly bytes: Uint8Array;
  /** Absolute path of the file that it is. */
  readonly origin: string;
  /** The same without links. */
  readonly real: string;
  /**
   * Name of the package that it belongs to, and its folder without links; absent for the author's
   * own files.
   */
  readonly packageName?: string;
  readonly packageFolder?: string;
}

export interface FolderUpload {
  /** Path in the upload → file. */
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** Path of the manifest in the upload. */
  readonly manifestFile: string;
  /** Absent where the manifest has errors. */
  readonly manifest?: Manifest;
  readonly environment?: string;
  readonly script?: UploadedFile;
  /** Problems that were found in the folder; the service finds the others. */
  readonly problems: readonly Problem[];
}

/** A folder of which no upload can be made. */
interface Unreadable {
  readonly problems: readonly Problem[];
}

export async function folderUpload(request: FolderRequest): Promise<FolderUpload | Unreadable> {
  const { folder, environment } = request;
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    return unreadable('There is no folder of this name.', 'Give the folder that has the manifest.');
  const fault = folderFault(folder);
  if (fault !== undefined)
    return unreadable(fault, 'Give a folder that has an integration alone, by its own path.');
  const manifestFile = request.manifest === undefined ? manifestIn(folder) : pathIn(folder, request.manifest);
  if (typeof manifestFile !== 'string') return { problems: [manifestFile] };
  const ofOther = request.manifest === undefined ? manifestFault(folder, manifestFile) : undefined;
  if (ofOther !== undefined)
    return unreadable(ofOther, 'Give that folder, or name the manifest with --manifest.');
  const tree = treeOf(folder);
  if (tree === undefined)
    return unreadable(
      `${IGNORE_FILE} is a link to a file outside of the folder.`,
      'Copy the file into the folder.',
    );
  const bytes = tree.read({ package: tree.root, path: manifestFile });
  if (bytes === undefined)
    return unreadable(
      `There is no manifest "${manifestFile}" in the folder.`,
      'Name it by its path in the folder.',
    );
  const read = readManifestFile(bytes, manifestFile, environment);
  const own = { manifestFile, ...(environment !== undefined && { environment }) };
  const manifest = read.manifest && { manifest: read.manifest };
  if (request.script !== undefined) return withScript(request.script, request, tree, { ...own, ...manifest });
  const problems = readNamed(tree, folder, manifestFile, read);
  const entry = entryOf(manifestFile, read);
  const reached = entry === undefined ? NOTHING : await reachFiles(tree, entry);
  const layout = layOut(tree.root);
  if (layout === undefined || tree.overflowed) return { problems: [...problems, TOO_MUCH] };
  const { files, places } = filesOf(layout);
  for (const { path, bytes, config } of writtenConfigs(tree.root, reached, layout))
    files.set(path, { ...files.get(path), bytes, origin: toDisk(config.path), real: toDisk(config.path) });
  problems.push(...problemsOf(reached, layout), ...wrongImports(reached.imports, layout, { files, places }));
  return { ...own, ...manifest, files, problems };
}

const NOTHING: Reached = { imports: [], faults: [] };
const TOO_MUCH = problem('The entrypoint reaches more files than could ever be uploaded.', {
  hint: 'Import less, or bundle the code with your own tools and publish the one file with --script.',
});

const unreadable = (message: string, hint: string): Unreadable => ({
  problems: [problem(message, { hint })],
});

/** A path that was given for a file of the folder, as the upload writes it. */
function pathIn(folder: string, given: string): string | Problem {
  const path = relative(folder, isAbsolute(given) ? given : resolve(folder, given))
    .split(sep)
    .join('/');
  if (path !== '' && path !== '..' && !path.startsWith('../') && !isAbsolute(path)) return path;
  return problem(`"${given}" is not in the folder.`, {
    hint: 'Publish a folder that contains the manifest and this file.',
  });
}

/** @returns undefined where what is excluded cannot be known */
function treeOf(folder: string): DiskTree | undefined {
  const ignoring = readInside(folder, IGNORE_FILE, IGNORE_BYTES_MAX);
  if (ignoring === 'leaves') return undefined;
  const root = realPath(folder) ?? folder;
  const excluded = exclusionBy(typeof ignoring === 'object' ? String(ignoring.bytes) : '');
  return new DiskTree(root, (path, owner) => {
    if (owner.id === 0) return isOfHome(root, join(root, path)) ? 'secret' : excluded(path);
    return isSecretFile(path) ? 'secret' : undefined;
  });
}

function withScript(
  script: string,
  { folder }: FolderRequest,
  tree: DiskTree,
  rest: Pick<FolderUpload, 'manifestFile' | 'manifest'>,
): FolderUpload | Unreadable {
  const origin = resolve(folder, script);
  const found = readGiven(folder, origin);
  if (found === 'absent')
    return unreadable(`There is no script "${script}".`, 'Name the file that your own tools have built.');
  // Attack: `dist/script.js` of a cloned folder is a link to a file of the machine.
  if (found === 'leaves')
    return unreadable(
      `"${script}" is a link to a file outside of the folder.`,
      'Name the file that it leads to.',
    );
  const folderOfManifest = folderOf(rest.manifestFile);
  for (const image of rest.manifest ? imagesOf(rest.manifest) : [])
    tree.read({ package: tree.root, path: posix.join(folderOfManifest, image.path) });
  if (rest.manifest) readAssets(tree, folder, folderOfManifest, rest.manifest);
  const { files } = filesOf(new Map([['', tree.root]]));
  return { ...rest, files, problems: [], script: { ...found, origin } };
}

/** Reads the static files, and the images that are published without being named. */
function readAssets(tree: DiskTree, folder: string, folderOfManifest: string, manifest: Manifest): void {
  const isAsset = assetsOf(manifest);
  for (const path of pathsIn(folder))
    if (path.startsWith(folderOfManifest) && isAsset(path.slice(folderOfManifest.length)))
      tree.read({ package: tree.root, path });
  if (manifest.assets === undefined) return;
  const pathOf = staticPathIn(manifest);
  const assets = posix.join(folderOfManifest, manifest.assets.folder);
  for (const path of filesBelow(folder, assets))
    if (pathOf(path.slice(folderOfManifest.length)) !== undefined) tree.read({ package: tree.root, path });
}

/**
 * Paths of the files below a folder, not all where there are far more than a service takes.
 * Attack: a folder of a million files.
 */
function filesBelow(folder: string, below: string): string[] {
  const found: string[] = [];
  const waiting = [below];
  for (const path of waiting) {
    if (!statSync(join(folder, path), { throwIfNoEntry: false })?.isDirectory()) continue;
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      if (found.length + waiting.length > STATIC_FILES_READ_MAX) return found;
      const inside = `${path}/${entry.name}`;
      if (entry.isDirectory()) waiting.push(inside);
      else found.push(inside);
    }
  }
  return found;
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);

/** Path of the entrypoint in the folder; undefined where the manifest has none. */
const entryOf = (manifestFile: string, { script }: ReadManifest): string | undefined =>
  typeof script === 'string' ? posix.join(folderOf(manifestFile), script) : undefined;

/** Reads the files that the manifest names. @returns a problem for each absent one */
function readNamed(tree: DiskTree, folder: string, manifestFile: string, read: ReadManifest): Problem[] {
  const root = tree.root;
  // The service looks there for modules of Node.js that the integration does without.
  tree.read({ package: root, path: 'package.json' });
  const problems: Problem[] = [];
  const wanted = (path: string, noun: string, at: Problem) => {
    if (tree.read({ package: root, path: posix.join(folderOf(manifestFile), path) }) !== undefined) return;
    const names = pathsIn(folder).map(
      (name) => [posix.relative(folderOf(manifestFile), name), true] as const,
    );
    const near = absentHint(path, new Map(names));
    const hint = near?.startsWith('There is') ? `There is "${posix.basename(path)}".` : near;
    problems.push({ ...at, message: `The ${noun} "${path}" does not exist.`, ...(hint && { hint }) });
  };
  if (typeof read.script === 'string')
    wanted(read.script.replace(/^(\.\/)+/, ''), 'entrypoint', problem('', read.placeOf(['script'])));
  for (const { path, at } of read.manifest ? imagesOf(read.manifest) : [])
    wanted(path, 'image', problem('', read.placeOf(at)));
  if (read.manifest) readAssets(tree, folder, folderOf(manifestFile), read.manifest);
  // By a configuration of Workers the service knows what the code expects.
  if (read.manifest && takesRequests(read.manifest) === undefined)
    for (const file of WRANGLER_FILES)
      tree.read({ package: root, path: posix.join(folderOf(manifestFile), file) });
  return problems;
}

interface PlacedFiles {
  readonly files: Map<string, UploadedFile>;
  /** Path in the upload → the file of a package that it is. */
  readonly places: ReadonlyMap<string, FileInPackage>;
}

function filesOf(layout: PackageLayout): PlacedFiles {
  const files = new Map<string, UploadedFile>();
  const places = new Map<string, FileInPackage>();
  for (const [folder, owner] of layout) {
    for (const [path, { bytes, real }] of owner.files) {
      const place = { package: owner, path };
      const inUpload = folder === '' ? path : `${folder}/${path}`;
      const ofPackage = owner.id !== 0 && {
        packageName: nameIn(folder),
        packageFolder: toDisk(owner.folder),
      };
      const origin = toDisk(pathOf(place));
      files.set(inUpload, { bytes, origin, real: toDisk(real), ...ofPackage });
      places.set(inUpload, place);
    }
  }
  return { files, places };
}

const nameIn = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 13);

function problemsOf({ faults }: Reached, layout: PackageLayout): Problem[] {
  const folders = new Map([...layout].map(([folder, owner]) => [owner, folder]));
  return faults.map((fault) =>
    importProblem(fault, ({ package: owner, path }) => posix.join(folders.get(owner) ?? nameOf(owner), path)),
  );
}

/** Imports that find another file in the upload than in the folder: versions that clash. */
function wrongImports(
  imports: readonly FoundImport[],
  layout: PackageLayout,
  { files, places }: PlacedFiles,
): Problem[] {
  const contents = new Map([...files].map(([path, { bytes }]) => [path, bytes]));
  const folders = Map.groupBy(layout.keys(), (folder) => layout.get(folder));
  return imports.flatMap(({ specifier, importer, kind, target }) => {
    const wrong = (folders.get(importer.package) ?? []).find((folder) => {
      const found = resolveMapped(contents, specifier, posix.join(folder, importer.path), kind);
      const place = 'path' in found ? places.get(found.path) : undefined;
      return place?.package !== target.package || place.path !== target.path;
    });
    if (wrong === undefined) return [];
    const message = `"${specifier}" cannot be uploaded so that it finds ${JSON.stringify(target.path)} of "${nameOf(target.package)}".`;
    const hint =
      'Import the package by its name. If versions of it exclude each other, "npm dedupe" may help.';
    return [problem(message, { file: posix.join(wrong, importer.path), hint })];
  });
}

/** Folders below the given one in which a manifest is looked for. */
const DEPTH_MAX = 3;
/** Most names that are looked at. */
const NAMES_MAX = 5_000;

/** @returns the path of the manifest in the folder, or the problem: none, or several */
export const manifestIn = (folder: string): string | Problem =>
  findManifest(pathsIn(folder), (path) => {
    const found = readGiven(folder, join(folder, path), YAML_BYTES_MAX);
    return typeof found === 'object' ? String(found.bytes) : undefined;
  });

/** Paths of the files, the nearest first, without packages and hidden folders. */
function pathsIn(folder: string): string[] {
  const found: string[] = [];
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 0 }];
  for (const { path, depth } of waiting) {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      if (found.length + waiting.length > NAMES_MAX) return found;
      const inside = path === '' ? entry.name : `${path}/${entry.name}`;
      if (!entry.isDirectory()) found.push(inside);
      else if (depth < DEPTH_MAX && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
        waiting.push({ path: inside, depth: depth + 1 });
    }
  }
  return found;
}

interface ReadManifest {
  /** Absent where it has errors, or what it is depends on the operator's rules. */
  readonly manifest?: Manifest;
  /** Entrypoint as written; null where there is none, absent where it could not be read. */
  readonly script?: string | null;
  readonly placeOf: PlaceOf;
}

/**
 * @param file path of the manifest in the upload, for positions
 * @param environment name of the environment of the manifest
 */
function readManifestFile(bytes: Uint8Array, file: string, environment?: string): ReadManifest {
  if (bytes.byteLength > YAML_BYTES_MAX) return { placeOf: () => ({ file, line: 1, column: 1 }) };
  const source = readYaml(Buffer.from(bytes).toString('utf8'), file);
  const parsed = checkManifest(source, {
    // Only the operator knows which organizations are internal.
    internalOrganizations: organizationsIn(source.value),
    ...(environment !== undefined && { environment }),
  });
  const { placeOf } = parsed;
  if (parsed.ok) return { manifest: parsed.manifest, script: parsed.manifest.script ?? null, placeOf };
  return { placeOf, ...(parsed.script !== undefined && { script: parsed.script }) };
}

/** Every text that may be the organization of a manifest: also those of its environments. */
function organizationsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { organization, envs } = value as { organization?: unknown; envs?: unknown };
  const own = typeof organization === 'string' ? [organization] : [];
  const others = typeof envs === 'object' && envs !== null ? Object.values(envs) : [];
  return [...own, ...others.flatMap((one) => organizationsIn({ organization: one?.organization }))];
}
