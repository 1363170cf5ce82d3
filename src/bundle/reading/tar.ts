/**
 * Reads a tar archive that is already in memory, entry by entry: ustar, pax (POSIX.1-2017, "pax Interchange Format") and
 * the long names of GNU tar.
 *
 * An own reader, because a general one is open to an attack that limits on bytes and files do not see: a global pax
 * header of half a million keys, merged again into each of thousands of entries, holds a thread for hours. Here every
 * header is read once, in time linear in its size, and only the three keys that matter are kept. Nothing is written
 * anywhere; modes, owners and times are not looked at.
 */

const BLOCK_BYTES = 512;
/** A path and a link target at their longest are far below this; a larger header is an attack. */
const EXTENDED_HEADER_BYTES_MAX = 64 * 1024;
/** Packers write a handful; each costs time to take apart. */
const PAX_RECORDS_MAX = 64;

export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'symlink' | 'hardlink'; readonly path: string; readonly target: string }
  /** Something that has no place in an upload, named for the message. */
  | { readonly kind: 'other'; readonly path: string; readonly what: string };

/** The bytes are no tar archive, or a damaged one; the message is for the author. */
export class TarError extends Error {}

/** Type flags that stand for nothing an integration could import. */
const OTHER: Readonly<Record<string, string>> = {
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  S: 'a sparse file',
};

/** What an extended header says about the entry behind it. */
interface Extension {
  path?: string;
  target?: string;
  size?: number;
  sparse?: boolean;
}

/**
 * The entries of an archive, in order. Bytes are views of the archive.
 *
 * @param headersMax headers read, extended ones included. An archive of nothing but headers has no file to count, yet
 *   each of them costs time.
 * @throws TarError at the first block that is out of shape.
 */
export function* readTar(archive: Uint8Array, headersMax: number): Generator<TarEntry> {
  let extension: Extension = {};
  let offset = 0;
  for (let headers = 0; ; headers += 1) {
    const header = archive.subarray(offset, offset + BLOCK_BYTES);
    // Without the end mark nobody can tell an archive that was cut off between two files from a whole one.
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

/** `x` and `g`: pax, for one entry and for all; `L` and `K`: GNU, a long path and a long link target. */
const isExtendedHeader = (flag: string): boolean => 'xgLK'.includes(flag);

function readEntry(header: Uint8Array, flag: string, bytes: Uint8Array, extension: Extension): TarEntry {
  const path = extension.path ?? readPath(header);
  if (extension.sparse === true) return { kind: 'other', path, what: 'a sparse file' };
  const target = extension.target ?? text(header.subarray(157, 257));
  switch (flag) {
    case '0':
    case '7':
      // Archives older than ustar mark a directory by its name alone.
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

/** ustar splits a long path into a prefix and a name. */
function readPath(header: Uint8Array): string {
  const name = text(header.subarray(0, 100));
  // GNU's magic, "ustar " with a space, uses the bytes of the prefix for something else.
  const prefix = text(header.subarray(257, 263)) === 'ustar' ? text(header.subarray(345, 500)) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Octal digits, or with the highest bit set a big-endian number; the latter must fit the archive anyway. */
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

/** Sum of all bytes of the header, its own field taken as spaces. */
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
  // A global header speaks of the archive (git writes its commit there). One that names every entry alike is a trick.
  return flag === 'g' ? {} : records;
}

/** Records of the form `<length> <key>=<value>\n`. */
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

/** A field up to its first NUL. */
function text(field: Uint8Array): string {
  const end = field.indexOf(0);
  return utf8.decode(end < 0 ? field : field.subarray(0, end));
}
