/**
 * The source map of a script as a debugger reads it: with the text of the author's files, and with
 * URLs at which an editor finds them.
 *
 * Stored maps have no texts. They come from the author's folder, which `annex dev` watches; without
 * one, the debugger shows names and positions alone. Files of packages and of the SDK are marked,
 * so that debuggers step over them.
 */
import { join, normalize, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readInside } from '../../real-files.ts';

const TEXT_BYTES_MAX = 2 * 1024 * 1024;
const TEXTS_BYTES_MAX = 16 * 1024 * 1024;
/** Files that the author has not written. */
const FOREIGN = /^(?:@annex\/sdk\/|node:|frame:|absent:)|(?:^|\/)node_modules\//;

interface StoredMap {
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/**
 * @param stored the map of a version
 * @param folder of the author's files
 * @returns a data URL; undefined where the map is empty
 */
export function scriptMapUrl(stored: string, script: string, folder: string | undefined): string | undefined {
  const { sources, names, mappings } = JSON.parse(stored) as StoredMap;
  if (sources.length === 0) return undefined;
  const isForeign = sources.map((source) => FOREIGN.test(source));
  const texts = folder === undefined ? [] : textsOf(sources, isForeign, folder);
  const map = {
    version: 3,
    sources: sources.map((source, at) => {
      const path = isForeign[at] ? undefined : pathIn(folder, source);
      return path === undefined ? `annex:/${script}/${source}` : pathToFileURL(path).href;
    }),
    sourcesContent: sources.map((_, at) => texts[at] ?? null),
    names,
    mappings,
    ignoreList: sources.flatMap((_, at) => (isForeign[at] ? [at] : [])),
  };
  const base64 = Buffer.from(JSON.stringify(map)).toString('base64');
  return `data:application/json;charset=utf-8;base64,${base64}`;
}

function textsOf(sources: readonly string[], isForeign: readonly boolean[], folder: string) {
  const texts: (string | undefined)[] = [];
  let bytes = 0;
  for (const [at, source] of sources.entries()) {
    const isRead = !isForeign[at] && pathIn(folder, source) !== undefined && bytes <= TEXTS_BYTES_MAX;
    // Attack: a file of the folder is a link to a file of the machine, becomes one meanwhile, or is
    // a pipe. The author may also have deleted it since the publish.
    const found = isRead ? readInside(folder, source, TEXT_BYTES_MAX) : 'absent';
    const text = typeof found === 'string' ? undefined : found.bytes.toString('utf8');
    bytes += text?.length ?? 0;
    texts.push(text);
  }
  return texts;
}

/** Attack: an upload names a file `../../.ssh/id_ed25519`, for the debugger to show. */
function pathIn(folder: string | undefined, source: string): string | undefined {
  if (folder === undefined) return undefined;
  const root = normalize(`${folder}${sep}`);
  const path = join(root, source);
  return path.startsWith(root) ? path : undefined;
}
