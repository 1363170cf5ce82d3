/**
 * Explains syntax errors that come from JSX in a `.ts` file, where `<` begins a type: esbuild's
 * messages are about something else then.
 *
 * Such a file is parsed once more in both ways. Only if `.tsx` alone succeeds, the message is
 * changed. Bounded in files; the process of the upload has a deadline.
 */
import { type Message, transform } from 'esbuild';
import { displayName } from './virtual-files.ts';

const FILES_MAX = 3;
const PLAIN_TYPESCRIPT = /\.([mc]?)ts$/;

/** Changes the first message about each of the files. */
export async function explainJsx(
  errors: readonly Message[],
  files: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const firsts = new Map<string, Message>();
  for (const error of errors) {
    const path = error.location === null ? '' : displayName(error.location.file);
    if (PLAIN_TYPESCRIPT.test(path) && files.has(path) && !firsts.has(path)) firsts.set(path, error);
  }
  for (const [path, error] of [...firsts].slice(0, FILES_MAX)) {
    const source = files.get(path) ?? new Uint8Array();
    if ((await parses(source, 'ts')) || !(await parses(source, 'tsx'))) continue;
    const renamed = path.slice(path.lastIndexOf('/') + 1).replace(PLAIN_TYPESCRIPT, '.tsx');
    error.text = 'This file has JSX, and the name of such a file has to end with .tsx.';
    const note = { location: null, text: `Rename it to "${renamed}", also where it is named.` };
    error.notes = [note, ...error.notes];
  }
}

const parses = (source: Uint8Array, loader: 'ts' | 'tsx'): Promise<boolean> =>
  transform(source, { loader, jsx: 'preserve', logLevel: 'silent' }).then(
    () => true,
    () => false,
  );
