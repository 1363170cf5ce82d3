/**
 * Unpacks an uploaded `.tar` or `.tar.gz` into the files of an upload, in memory.
 *
 * Nothing is written to a disk, so an archive cannot overwrite files. Its size is bounded twice:
 * decompression stops above what an upload within the limits can need, and files and their bytes
 * are counted.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { limitClause } from '../../../model/limit-met.ts';
import { limitProblem, type Problem, problem } from '../../../model/problem.ts';
import { pathProblem, UploadedFiles, type UploadLimits } from '../upload.ts';
import { type ArchiveLink, ArchiveLinks } from './archive-links.ts';
import { readTar, type TarEntry, TarError } from './tar.ts';

/**
 * tar's overhead for each file: a header, a pax header of two blocks, padding, and the entry of a
 * folder.
 */
const OVERHEAD_BYTES_PER_FILE = 4 * 1024;
/** Headers for each file: one for the file, one for its folder, and a pax header before each. */
const HEADERS_PER_FILE = 4;
/**
 * Tree nodes allowed for each file of an archive with links; a normal upload needs one or two
 * folders for each file.
 */
const NODES_PER_FILE = 32;
/** tar pads an archive to a multiple of this size. */
const RECORD_BYTES = 10 * 1024;

export type ArchiveResult =
  | { readonly ok: true; readonly files: Map<string, Uint8Array> }
  | { readonly ok: false; readonly problems: Problem[] };

/**
 * Reads an archive. Its first bytes show whether it is compressed.
 *
 * @returns the files, with links resolved and a leading `./` dropped, or every problem found.
 * Invalid archives never
 *   throw.
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
    // Attack: a decompression bomb, 10 MB that become 10 GB. Decompression stops at the limit.
    return { tar: await promisify(gunzip)(bytes, { maxOutputLength: most }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return tooLarge();
    const hint = 'It may be cut off: upload it again.';
    return { problem: problem(`The archive is not valid gzip: ${(error as Error).message}.`, { hint }) };
  }
}

/** Adds the entries: files directly to the upload; links once all files are known. */
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

/** Checks an entry that is not a file; undefined where it may be part of an upload. */
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

/** Normalises tar's `./src/` to `src`. Other paths that are not normalised are refused later. */
function plainPath(path: string): string {
  const start = path.startsWith('./') ? 2 : 0;
  return path.slice(start, path.endsWith('/') ? Math.max(start, path.length - 1) : path.length);
}
