/**
 * Reads a tar archive in memory, entry by entry: ustar, pax (POSIX.1-2017, "pax Interchange
 * Format") and GNU long names.
 *
 * Annex has its own reader because of an attack on general ones, which limits on bytes and files do
 * not stop. Attack: a global pax header of half a million keys, merged into each of thousands of
 * entries, blocks a thread for hours. Here every header is read once, in time linear in its size,
 * and only the keys in use are kept. Nothing is written to a disk; modes, owners and times are
 * ignored.
 */

const BLOCK_BYTES = 512;
/** Largest pax or GNU header. Paths and link targets need far less. */
const EXTENDED_HEADER_BYTES_MAX = 64 * 1024;
/** Most records in a pax header. Packers write a few; parsing each costs time. */
const PAX_RECORDS_MAX = 64;

export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'symlink' | 'hardlink'; readonly path: string; readonly target: string }
  /** An entry that an upload cannot contain; `what` names it in the problem. */
  | { readonly kind: 'other'; readonly path: string; readonly what: string };

/** Error for bytes that are not a valid tar archive; the message is for the author. */
export class TarError extends Error {}

/** Type flags of entries that an integration cannot import. */
const OTHER: Readonly<Record<string, string>> = {
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  S: 'a sparse file',
};

/** Fields from an extended header that apply to the next entry. */
interface Extension {
  path?: string;
  target?: string;
  size?: number;
  sparse?: boolean;
}

/**
 * Yields the entries of an archive, in order. `bytes` are views of the archive.
 *
 * @param headersMax most headers read, extended ones included. Attack: an archive of headers only,
 * which cost time but
 *   add no file to count.
 * @throws TarError at the first malformed block.
 */
export function* readTar(archive: Uint8Array, headersMax: number): Generator<TarEntry> {
  let extension: Extension = {};
  let offset = 0;
  for (let headers = 0; ; headers += 1) {
    const header = archive.subarray(offset, offset + BLOCK_BYTES);
    // The end mark is required: without it, an archive cut off between two files looks complete.
    if (header.length < BLOCK_BYTES) throw new TarError(`The archive ends early, at byte ${archive.length}.`);
    if (header.every((byte) => byte === 0)) return;
    if (headers >= headersMax) throw new TarError(`The archive has more than ${headersMax} headers.`);
    verifyChecksum(header, offset);
    const flag = String.fromCharCode(header[156] || 0x30);
    const size = extension.size ?? readSize(header, offset);
    const start = offset + BLOCK_BYTES;
    const bytes = archive.subarray(start, start + size);
    if (bytes.length < size) throw new TarError(`The archive ends early, at byte ${archive.length}.`);
    offset = start + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    if (isExtendedHeader(flag)) {
      if (size > EXTENDED_HEADER_BYTES_MAX) {
        throw new TarError(
          `A header of the archive has ${size} bytes; at most ${EXTENDED_HEADER_BYTES_MAX} are read.`,
        );
      }
      extension = { ...extension, ...readExtension(flag, bytes) };
      continue;
    }
    yield readEntry(header, flag, bytes, extension);
    extension = {};
  }
}

/** `x`: pax, for one entry; `g`: pax, global; `L`: GNU long path; `K`: GNU long link target. */
const isExtendedHeader = (flag: string): boolean => 'xgLK'.includes(flag);

function readEntry(header: Uint8Array, flag: string, bytes: Uint8Array, extension: Extension): TarEntry {
  const path = extension.path ?? readPath(header);
  if (extension.sparse === true) return { kind: 'other', path, what: 'a sparse file' };
  const target = extension.target ?? text(header.subarray(157, 257));
  switch (flag) {
    case '0':
    case '7':
      // Archives older than ustar mark a directory only by a trailing slash.
      return path.endsWith('/') ? { kind: 'directory', path } : { kind: 'file', path, bytes };
    case '1':
      return { kind: 'hardlink', path, target };
    case '2':
      return { kind: 'symlink', path, target };
    case '5':
      return { kind: 'directory', path };
    default:
      return { kind: 'other', path, what: OTHER[flag] ?? `of an unknown type (${JSON.stringify(flag)})` };
  }
}

/** Joins the prefix and the name into which ustar splits a long path. */
function readPath(header: Uint8Array): string {
  const name = text(header.subarray(0, 100));
  // Archives with GNU's magic, "ustar " with a space, use the bytes of the prefix for other fields.
  const prefix = text(header.subarray(257, 263)) === 'ustar' ? text(header.subarray(345, 500)) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/**
 * Reads octal digits or, if the highest bit is set, a big-endian number. The caller checks it
 * against the archive.
 */
function readSize(header: Uint8Array, offset: number): number {
  const field = header.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) !== 0) {
    const view = new DataView(field.buffer, field.byteOffset, field.byteLength);
    const high = field.subarray(1, 4).some((byte) => byte !== 0) || field[0] !== 0x80;
    const size = high ? Number.NaN : Number(view.getBigUint64(4));
    if (Number.isSafeInteger(size)) return size;
  } else {
    const digits = text(field).trim();
    if (digits === '') return 0;
    if (/^[0-7]+$/.test(digits)) return Number.parseInt(digits, 8);
  }
  throw new TarError(`The header at byte ${offset} of the archive has no valid size.`);
}

/**
 * Compares the checksum: the sum of all bytes of the header, with its own field counted as spaces.
 */
function verifyChecksum(header: Uint8Array, offset: number): void {
  let sum = 0;
  for (let index = 0; index < BLOCK_BYTES; index += 1) {
    sum += index >= 148 && index < 156 ? 0x20 : (header[index] ?? 0);
  }
  if (sum === Number.parseInt(text(header.subarray(148, 156)).trim(), 8)) return;
  throw new TarError(
    offset === 0
      ? 'The archive is neither .tar nor .tar.gz.'
      : `The archive is damaged: the header at byte ${offset} has a wrong checksum.`,
  );
}

function readExtension(flag: string, bytes: Uint8Array): Extension {
  if (flag === 'L') return { path: text(bytes) };
  if (flag === 'K') return { target: text(bytes) };
  const records = readPax(bytes);
  // A global header describes the archive (git stores its commit there). Attack: one that gives
  // every entry one path.
  return flag === 'g' ? {} : records;
}

/** Reads records of the form `<length> <key>=<value>\n`. */
function readPax(bytes: Uint8Array): Extension {
  const extension: Extension = {};
  let offset = 0;
  for (let records = 0; offset < bytes.length; records += 1) {
    if (records >= PAX_RECORDS_MAX) {
      throw new TarError(`A pax header of the archive has more than ${PAX_RECORDS_MAX} records.`);
    }
    const space = bytes.indexOf(0x20, offset);
    const digits = space < 0 ? '' : text(bytes.subarray(offset, Math.min(space, offset + 8)));
    const end = offset + Number(digits);
    if (!/^[1-9]\d*$/.test(digits) || end > bytes.length || end <= space || bytes[end - 1] !== 0x0a) {
      throw new TarError('The archive is damaged: a pax header is malformed.');
    }
    const [key, value] = splitOnce(utf8.decode(bytes.subarray(space + 1, end - 1)));
    if (key === 'path') extension.path = value;
    else if (key === 'linkpath') extension.target = value;
    else if (key === 'size') extension.size = paxSize(value);
    else if (key.startsWith('GNU.sparse.')) extension.sparse = true;
    offset = end;
  }
  return extension;
}

function paxSize(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new TarError('The archive is damaged: a pax header has no valid size.');
}

function splitOnce(record: string): [key: string, value: string] {
  const equals = record.indexOf('=');
  return equals < 0 ? [record, ''] : [record.slice(0, equals), record.slice(equals + 1)];
}

const utf8 = new TextDecoder();

/** Decodes a field up to its first NUL. */
function text(field: Uint8Array): string {
  const end = field.indexOf(0);
  return utf8.decode(end < 0 ? field : field.subarray(0, end));
}
