/**
 * What to say of a file that the manifest names and the upload does not have: most likely it is there under another name.
 */
import { nearest } from '../../model/nearest.ts';

/** Files looked at; an upload may have thousands, and a manifest names hundreds. */
const FILES_MAX = 500;

/**
 * @returns undefined where no file comes near. `curl -F files=@src/index.ts` sends the last part of a path alone, which is
 *   how a file is most often lost.
 */
export function absentHint(path: string, files: ReadonlyMap<string, unknown>): string | undefined {
  const base = baseOf(path);
  if (base !== path && files.has(base))
    return `There is "${base}": send its path as the file name, as curl -F 'files=@${path};filename=${path}'.`;
  const near = nearest(path, files.keys()) ?? sameBase(base, files);
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}

function sameBase(base: string, files: ReadonlyMap<string, unknown>): string | undefined {
  let seen = 0;
  for (const file of files.keys()) {
    if (baseOf(file) === base) return file;
    seen += 1;
    if (seen === FILES_MAX) break;
  }
  return undefined;
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
