/**
 * Refuses glob imports, `import("./" + name)`: an import path must be a fixed text.
 *
 * esbuild resolves them on the disk, without the plugin of `virtual-files.ts`. The process of an
 * upload usually has no files to match. Where it has, the matches must stay hidden. Attack: an
 * author reads from the answer which files of the host a pattern matches. So every message about a
 * pattern becomes the same refusal, whether the pattern matches many files, none, or a folder that
 * does not exist.
 */
import type { Message } from 'esbuild';

/** Message of the plugin: a pattern matched a file on the disk. Never shown. */
export const GLOB_MATCHED = 'A pattern has matched a file.';

/**
 * esbuild's message for a pattern whose folder does not exist. The plugin words it differently for
 * a literal path.
 */
const UNRESOLVED = /^Could not resolve (?:import|require)\(/;

/**
 * esbuild's second message where it cannot open a folder, its working directory included. Only
 * patterns make it open folders.
 */
const UNREADABLE = /^Cannot read directory "/;

/** Whether esbuild or the plugin reports a glob import. */
export const isGlobImport = ({ id, text }: Message): boolean =>
  id === 'empty-glob' || text === GLOB_MATCHED || UNRESOLVED.test(text) || UNREADABLE.test(text);

const REFUSAL = 'An import path must be a fixed text, not a pattern.';
const HINT =
  'Import each file by its own path, for instance from an object of functions: { a: () => import("./a.ts") }.';

/**
 * The refusals of one build, in esbuild's form. With positions, one for each of them, in their
 * order. Without, one alone: esbuild reports a file that two patterns match only once, so the
 * positions would reveal which patterns match the same file.
 *
 * @param found messages about glob imports
 * @param diskless esbuild cannot open files or folders, so the positions of patterns reveal nothing
 * about the disk
 */
export function globImportRefusals(found: readonly Message[], diskless: boolean): readonly Message[] {
  const placed = diskless ? found.filter(({ location }) => location !== null) : [];
  if (placed.length === 0) return found.slice(0, 1).map((message) => refused(message, null));
  const places = new Map<string, Message>();
  for (const message of placed) places.set(placeOf(message), refused(message, message.location));
  return [...places].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, message]) => message);
}

const refused = (message: Message, location: Message['location']): Message => ({
  ...message,
  location,
  text: REFUSAL,
  notes: [{ location: null, text: HINT }],
});

/** Sorts by file, line and column. */
const placeOf = ({ location }: Message): string =>
  `${location?.file} ${String(location?.line).padStart(9)} ${String(location?.column).padStart(9)}`;
