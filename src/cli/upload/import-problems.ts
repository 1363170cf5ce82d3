/**
 * The problem of an import that leads nowhere, in the words of an author's folder: a package that
 * is not installed, a file of another name, a file that is never uploaded.
 */
import { existsSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { type Problem, problem } from '../../model/problem.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { toDisk } from './disk-path.ts';
import { nameOf, type Package, type Place, pathOf, type Refusal } from './disk-tree.ts';
import { IGNORE_FILE } from './never-uploaded.ts';
import type { ImportFault } from './reach-files.ts';

/** Most names of a folder that are compared with a wrong one. */
const NAMES_MAX = 200;

interface Words {
  readonly message: string;
  readonly hint?: string;
}

/** @param fileOf path in the upload of a file */
export function importProblem(fault: ImportFault, fileOf: (place: Place) => string): Problem {
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
  if (!/^(?:@[^/:]+\/)?[^/:@#.~][^:]*$/.test(specifier) || fault.message.includes(' is mapped by '))
    return fault;
  const [name = specifier] = /^(?:@[^/]+\/)?[^/]+/.exec(specifier) ?? [];
  if (fault.message.includes('offers no'))
    return {
      message: `The package "${name}" offers no "${specifier}".`,
      hint: 'Look at "exports" in its package.json, and whether its installation is whole.',
    };
  return { message: `The package "${name}" is not installed.`, hint: installHint(name, importer.package) };
}

function relativeWords(specifier: string, importer: Place): Words {
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
