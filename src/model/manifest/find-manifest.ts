/**
 * Finds the manifest among the uploaded files: the one file that is named `…-manifest.yaml`, as
 * near to the root as there is one.
 *
 * Files of packages do not count, and neither do manifests of other tools, such as Kubernetes,
 * where there are several. Several manifests are a problem, because a guess could publish the wrong
 * integration. An upload without one often has it under another name.
 */

import { quote } from '../plain-text.ts';
import { type Problem, problem } from '../problem.ts';
import { nearest } from '../spelling-hint.ts';
import { MANIFEST_FILE } from './manifest.ts';

const MANIFEST_NAME = /(?:^|\/)[^/]*-manifest\.yaml$/;
/** Longest text of the part `manifest` that may be a path. */
const PATH_CHARS_MAX = 512;
/** Most file names compared. */
const FILES_MAX = 2_000;
/** Most manifests named in a problem. */
const NAMES_SHOWN = 5;
const SEND_IT = `Send it as the part "manifest", or as the file ${MANIFEST_FILE}.`;

const RENAME_IT = `Name it ${MANIFEST_FILE}, in lower case, at the root of the upload.`;

/** The uploaded file that the text of the part `manifest` names; undefined where it is YAML. */
export function namedFile(text: string, files: ReadonlyMap<string, unknown>): string | undefined {
  if (text.length > PATH_CHARS_MAX) return undefined;
  const path = text.trim().replace(/^(\.\/)+/, '');
  return files.has(path) ? path : undefined;
}

/** A key at the top of a manifest that those of other tools do not have. */
const OWN_KEY = /^\uFEFF?["']?(?:organization|scopes|script)["']?[^\S\n]*:/m;

/**
 * @param textOf the text of a file, as far as it can be read
 * @returns the path of the manifest, or the problem that there is none, or more than one
 */
export function findManifest(
  paths: Iterable<string>,
  textOf: (path: string) => string | undefined,
): string | Problem {
  const all = [...paths];
  const named = all.filter((path) => MANIFEST_NAME.test(path) && !/(?:^|\/)node_modules\//.test(path));
  const own = named.length > 1 ? named.filter((path) => OWN_KEY.test(textOf(path) ?? '')) : [];
  const found = own.length > 0 ? own : named;
  const depth = Math.min(...found.map(depthOf));
  const [only, ...others] = found.filter((path) => depthOf(path) === depth);
  if (only === undefined) return missingManifest(all);
  if (others.length === 0) return only;
  const names = [only, ...others].slice(0, NAMES_SHOWN).map(quote).join(', ');
  const message = `The upload has ${others.length + 1} manifests: ${names}.`;
  return problem(message, { hint: 'Send the path of the one that is meant as the part "manifest".' });
}

const depthOf = (path: string): number => path.split('/').length;

/** Reports the missing manifest and names the file that was probably meant. */
function missingManifest(paths: readonly string[]): Problem {
  const found = paths.slice(0, FILES_MAX);
  const wrangler = found.find((path) => /^wrangler\.(?:toml|jsonc?)$/.test(path));
  if (wrangler !== undefined)
    return problem('The upload has no manifest.', { hint: `Write one from ${wrangler}: annex import` });
  const meant = found.find(isMisnamed) ?? nearest(MANIFEST_FILE, rootNames(found));
  if (meant === undefined) return problem('The upload has no manifest.', { hint: SEND_IT });
  const message = `The upload has no manifest: the file ${quote(meant)} is not read as one.`;
  return problem(message, { file: meant, hint: RENAME_IT });
}

/**
 * Matches `.yml`, `.json`, capitals, or another separator for the hyphen; at the root or in a
 * folder.
 */
const isMisnamed = (path: string): boolean =>
  /^[a-z0-9]+[-_ .]?manifest\.(ya?ml|json)$/i.test(path.slice(path.lastIndexOf('/') + 1));

const rootNames = (paths: readonly string[]): string[] => paths.filter((path) => !path.includes('/'));
