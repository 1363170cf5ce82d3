/**
 * Unpacks an uploaded `.tar` or `.tar.gz` into the files of an upload, in memory.
 *
 * Nothing is extracted to a disk, so an archive cannot overwrite anything; what it can do is grow. Both ends are bounded:
 * decompression stops at the first byte over what an upload within the limits can need, and every file is counted.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { limitClause } from '../../model/limit-met.ts';
import { limitProblem, type Problem, problem } from '../../model/problem.ts';
import { pathProblem, UploadedFiles, type UploadLimits } from '../upload.ts';
import { type ArchiveLink, ArchiveLinks } from './archive-links.ts';
import { readTar, type TarEntry, TarError } from './tar.ts';

/** What tar adds to one file: its header, a pax header of two blocks, padding; a folder beside each file. */
const OVERHEAD_BYTES_PER_FILE = 4 * 1024;
/** One for the file, one for its folder, and a pax header before each. */
const HEADERS_PER_FILE = 4;
/** Names in the tree of an archive that has links: an upload within the limits has a folder or two for each of its files. */
const NODES_PER_FILE = 32;
/** tar fills its last record up to this size. */
const RECORD_BYTES = 10 * 1024;

export type ArchiveResult =
  | { readonly ok: true; readonly files: Map<string, Uint8Array> }
  | { readonly ok: false; readonly problems: Problem[] };

/**
 * Reads an archive; compressed or not is told by its first bytes.
 *
 * @returns the files, links replaced by what they point to and a leading `./` dropped, or every problem found. Never
 *   throws for what is in the archive.
 */
export async function readArchive(bytes: Uint8Array, limits: UploadLimits): Promise<ArchiveResult> {
  const unpacked = await decompress(bytes, limits);
  if ('problem' in unpacked) return { ok: false, problems: [unpacked.problem] };
  const upload = new UploadedFiles(limits);
  try {
    unpack(unpacked.tar, upload, limits);
  } catch (error) {
    if (!(error instanceof TarError)) throw error;
    upload.problems.push(problem(error.message, { hint: 'Pack it again: tar -czf upload.tar.gz .' }));
  }
  if (upload.problems.length > 0) return { ok: false, problems: upload.problems };
  return { ok: true, files: upload.files };
}

async function decompress(
  bytes: Uint8Array,
  limits: UploadLimits,
): Promise<{ tar: Uint8Array } | { problem: Problem }> {
  const most = limits.uploadBytes + limits.uploadFiles * OVERHEAD_BYTES_PER_FILE + RECORD_BYTES;
  const limit = { name: 'uploadBytes', max: limits.uploadBytes } as const;
  const tooLarge = () => ({
    problem: limitProblem(
      limit,
      {},
      `The archive unpacks to more than ${most} bytes; ${limitClause(limit)}.`,
    ),
  });
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.length > most ? tooLarge() : { tar: bytes };
  try {
    // A decompression bomb, 10 MB that become 10 GB, is given up as soon as its output passes the limit.
    return { tar: await promisify(gunzip)(bytes, { maxOutputLength: most }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return tooLarge();
    const hint = 'It may be cut off: upload it again.';
    return { problem: problem(`The archive is not valid gzip: ${(error as Error).message}.`, { hint }) };
  }
}

/** Takes the entries apart: files go straight into the upload, links are followed once all files are known. */
function unpack(tar: Uint8Array, upload: UploadedFiles, limits: UploadLimits): void {
  const links = new Map<string, ArchiveLink>();
  const folders = new Set<string>();
  for (const entry of readTar(tar, limits.uploadFiles * HEADERS_PER_FILE)) {
    const path = plainPath(entry.path);
    if (entry.kind === 'directory' && (path === '' || path === '.')) continue;
    if (entry.kind === 'file') {
      if (!upload.add(path, entry.bytes)) return;
      continue;
    }
    const fault = pathProblem(path) ?? entryProblem(entry, path, links);
    if (fault !== undefined && !upload.note(fault)) return;
    if (fault !== undefined) continue;
    if (entry.kind === 'symlink' || entry.kind === 'hardlink') links.set(path, entry);
    else folders.add(path);
  }
  const bounds = { stepsMax: 2 * limits.uploadFiles, nodesMax: NODES_PER_FILE * limits.uploadFiles };
  new ArchiveLinks(links, new Map(upload.files), folders, bounds).addTo(upload);
}

/** What keeps a folder, a link or something else from being part of an upload. */
function entryProblem(
  entry: TarEntry,
  path: string,
  links: ReadonlyMap<string, ArchiveLink>,
): Problem | undefined {
  if (entry.kind === 'other') {
    return problem(`This is ${entry.what}; only files, folders and links can be uploaded.`, { file: path });
  }
  return links.has(path) ? problem('The archive has this name more than once.', { file: path }) : undefined;
}

/** `./src/` is how tar writes `src`. Whatever else is not normalised is refused by its name. */
function plainPath(path: string): string {
  const start = path.startsWith('./') ? 2 : 0;
  return path.slice(start, path.endsWith('/') ? Math.max(start, path.length - 1) : path.length);
}
