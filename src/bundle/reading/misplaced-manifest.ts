/**
 * Problem for an upload without a manifest. Most such uploads have one under another name or in a
 * folder.
 */

import { MANIFEST_FILE } from '../../model/manifest/manifest.ts';
import { nearest } from '../../model/nearest.ts';
import { type Problem, problem } from '../../model/problem.ts';
import { quote } from '../upload.ts';

/** Most file names compared. */
const FILES_MAX = 2_000;
const SEND_IT = `Send it as the part "manifest", or as the file ${MANIFEST_FILE}.`;

const RENAME_IT = `Name it ${MANIFEST_FILE}, in lower case, at the root of the upload.`;

/** Reports the missing manifest and names the file that was probably meant. */
export function missingManifest(paths: Iterable<string>): Problem {
  const found = [...paths].slice(0, FILES_MAX);
  const [folder] = found
    .filter((path) => path.endsWith(`/${MANIFEST_FILE}`))
    .map((path) => path.slice(0, -MANIFEST_FILE.length - 1))
    .sort((a, b) => a.length - b.length);
  if (folder !== undefined) {
    const message = `The upload has no manifest at its root: there is one in the folder ${quote(folder)}.`;
    const hint = `Upload what is in that folder, not the folder itself, for instance: tar -czf upload.tar.gz -C ${shellWord(folder)} .`;
    return problem(message, { file: `${folder}/${MANIFEST_FILE}`, hint });
  }
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
  /^platform[-_ .]?manifest\.(ya?ml|json)$/i.test(path.slice(path.lastIndexOf('/') + 1));

const rootNames = (paths: readonly string[]): string[] => paths.filter((path) => !path.includes('/'));

/** A folder name if it is safe to paste into a shell, else a placeholder. */
const shellWord = (folder: string): string => (/^[\w./-]+$/.test(folder) ? folder : '<folder>');
