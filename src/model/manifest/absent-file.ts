/**
 * Hint for a file that the manifest names and the upload lacks: often it was uploaded under another
 * name.
 */
import { nearest } from '../spelling-hint.ts';

/** Most files compared; an upload may have thousands, and a manifest may name hundreds. */
const FILES_MAX = 500;

/**
 * Finds the file that the manifest probably means. The usual mistake: `curl -F files=@src/index.ts`
 * sends only the last part of a path as the file name.
 *
 * @returns a hint; undefined where no file has a similar name
 */
export function absentHint(path: string, files: ReadonlyMap<string, unknown>): string | undefined {
  const base = baseOf(path);
  if (base !== path && files.has(base))
    return `There is "${base}": send its path as the file name, as curl -F 'files=@${path};filename=${path}'.`;
  const near = nearest(path, files.keys()) ?? sameBase(base, files);
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}

function sameBase(base: string, files: ReadonlyMap<string, unknown>): string | undefined {
  let compared = 0;
  for (const file of files.keys()) {
    if (baseOf(file) === base) return file;
    compared += 1;
    if (compared === FILES_MAX) break;
  }
  return undefined;
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
