/**
 * An archive becomes the files of an upload; each entry that is no plain content becomes a problem.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { describe, expect, test } from 'vitest';
import { readArchive } from '../../../../src/host/bundle/reading/archive.ts';
import { DEFAULT_LIMITS } from '../../../../src/limits.ts';
import { cpuMs } from '../../../support/measure/cpu-time.ts';
import { heldBufferBytes } from '../../../support/measure/held-buffers.ts';

type Packed = Partial<Header> & { name: string; content?: string };

/** Packs entries with tar-stream, which shares no code with the reader under test. */
async function tar(...entries: Packed[]): Promise<Buffer> {
  const packing = pack();
  for (const { content = '', ...header } of entries) packing.entry(header, content);
  packing.finalize();
  return Buffer.concat(await Array.fromAsync(packing as AsyncIterable<Buffer>));
}

const LIMITS = { uploadFiles: 100, uploadBytes: 100_000 };
const symlink = (name: string, linkname: string): Packed => ({ name, linkname, type: 'symlink' });
const hardlink = (name: string, linkname: string): Packed => ({ name, linkname, type: 'link' });

async function unpacked(archive: Uint8Array, limits = LIMITS): Promise<Record<string, string>> {
  const result = await readArchive(archive, limits);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return Object.fromEntries([...result.files].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]));
}

async function problems(archive: Uint8Array, limits = LIMITS): Promise<string[]> {
  const result = await readArchive(archive, limits);
  return result.ok ? [] : result.problems.map(({ message }) => message);
}

/** A header as raw bytes, for headers that tar-stream does not write. */
function rawHeader(name: string, flag: string, size: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(size, 124);
  header.write('        ', 148);
  header.write(flag, 156);
  header.write('ustar\x0000', 257);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return header;
}
const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
const octal = (size: number): string => size.toString(8).padStart(11, '0');
const END = Buffer.alloc(1024);

describe('files', () => {
  const entries = [
    { name: './src/', type: 'directory' as const },
    { name: './src/a.ts', content: 'a' },
    { name: 'b', content: '' },
  ];

  test('come out of .tar and .tar.gz, without a leading "./"', async () => {
    const archive = await tar(...entries);
    expect(await unpacked(archive)).toEqual({ 'src/a.ts': 'a', b: '' });
    expect(await unpacked(gzipSync(archive))).toEqual({ 'src/a.ts': 'a', b: '' });
  });

  test('keep long names and names that are not ASCII', async () => {
    const name = `${'folder/'.repeat(40)}späße-日本.ts`;
    expect(await unpacked(await tar({ name, content: 'x' }))).toEqual({ [name]: 'x' });
  });

  test.each(['gnu', 'ustar', 'posix', 'v7'])(
    'come out of what the tar command packs as %s',
    async (format) => {
      const folder = mkdtempSync(join(tmpdir(), 'annex-archive-'));
      try {
        mkdirSync(join(folder, 'src'));
        writeFileSync(join(folder, 'src/index.ts'), 'export default 1');
        symlinkSync('index.ts', join(folder, 'src/link.ts'));
        const long = format === 'v7' ? 'short' : `${'d'.repeat(90)}/${'f'.repeat(80)}`;
        mkdirSync(join(folder, long, '..'), { recursive: true });
        writeFileSync(join(folder, long), 'long');
        const archive = gzipSync(execFileSync('tar', [`--format=${format}`, '-c', '-C', folder, '.']));
        expect(await unpacked(archive)).toEqual({
          'src/index.ts': 'export default 1',
          'src/link.ts': 'export default 1',
          [long]: 'long',
        });
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  test.each(['../a', '/etc/passwd', 'a/../../b', 'a\\b', 'C:/a', 'a//b', 'a\nb'])(
    'called %j are a problem',
    async (name) => {
      expect(await problems(await tar({ name, content: 'x' }))).toEqual([
        expect.stringContaining('The file name'),
      ]);
    },
  );

  test('packed twice are a problem, and so is a link over a file', async () => {
    const twice = await tar({ name: 'a', content: '1' }, { name: './a', content: '2' });
    expect(await problems(twice)).toEqual(['The upload has this file more than once.']);
    const covered = await tar({ name: 'a', content: '1' }, { name: 'b', content: '2' }, symlink('a', 'b'));
    expect(await problems(covered)).toEqual(['The upload has this file more than once.']);
  });

  test.each(['character-device', 'block-device', 'fifo'] as const)(
    'that are a %s are refused',
    async (type) => {
      expect(await problems(await tar({ name: 'dev', type }))).toEqual([
        expect.stringMatching(/^This is a /),
      ]);
    },
  );

  test('that are invalid are all reported, each once', async () => {
    const archive = await tar(
      { name: '../a' },
      symlink('b', '/etc/passwd'),
      { name: 'c', type: 'fifo' },
      symlink('d', 'x'),
    );
    expect(await problems(archive)).toHaveLength(4);
  });
});

describe('links', () => {
  test('to files and folders are replaced by their targets', async () => {
    const archive = await tar(
      { name: 'packages/a/index.ts', content: 'a' },
      { name: 'packages/a/lib/b.ts', content: 'b' },
      symlink('node_modules/a', '../packages/a'),
      symlink('chain', 'node_modules/a/lib/../index.ts'),
      symlink('first', 'second'),
      symlink('second', './packages//a/lib/b.ts'),
      hardlink('hard.ts', './packages/a/index.ts'),
    );
    expect(await unpacked(archive)).toEqual({
      'packages/a/index.ts': 'a',
      'packages/a/lib/b.ts': 'b',
      'node_modules/a/index.ts': 'a',
      'node_modules/a/lib/b.ts': 'b',
      chain: 'a',
      first: 'b',
      second: 'b',
      'hard.ts': 'a',
    });
  });

  test('inside a linked folder are followed too', async () => {
    const archive = await tar({ name: 'a/x', content: 'x' }, symlink('a/y', 'x'), symlink('b', 'a'));
    expect(await unpacked(archive)).toEqual({ 'a/x': 'x', 'a/y': 'x', 'b/x': 'x', 'b/y': 'x' });
  });

  test('to an empty folder are accepted and add no file', async () => {
    const archive = await tar({ name: 'empty/', type: 'directory' }, symlink('a', 'empty'), { name: 'b' });
    expect(await unpacked(archive)).toEqual({ b: '' });
  });

  const LEAVES = /^The link "l(\/m)?" leaves the archive\.$/;
  const CIRCLE = /runs in a circle/;
  test.each([
    ['leaves the archive', symlink('l', '../secret'), LEAVES],
    ['leaves the archive by an absolute path', symlink('l', '/etc/passwd'), LEAVES],
    ['leaves the archive from a folder', symlink('l/m', '../../secret'), LEAVES],
    ['leaves the archive and comes back', symlink('l', '../here/file'), LEAVES],
    ['is a hard link out of the archive', hardlink('l', '../secret'), LEAVES],
    ['is a hard link to an absolute path', hardlink('l', '/etc/passwd'), LEAVES],
    ['dangles', symlink('l', 'absent'), /The link "l" points to nothing/],
    ['goes below a file', symlink('l', 'file/x'), /The link "l" points to nothing/],
    ['is a dangling hard link', hardlink('l', 'absent'), /The link "l" points to nothing/],
    ['points to itself', symlink('l', 'l'), CIRCLE],
    ['points to its own folder', symlink('here/l', '.'), CIRCLE],
    ['points to the root above it', symlink('here/l', '..'), CIRCLE],
    ['has an endless target', symlink('l', 'x/'.repeat(300)), /too long/],
  ])('that %s are a problem that names the link', async (_, link, message) => {
    const archive = await tar({ name: 'file' }, { name: 'here/file' }, link);
    const found = await problems(archive);
    expect(found).toEqual([expect.stringMatching(message)]);
    expect(found[0]).toContain(JSON.stringify(link.name));
  });

  test('that point to each other are problems', async () => {
    expect(await problems(await tar(symlink('a', 'b'), symlink('b', 'a')))).toEqual([
      expect.stringMatching(CIRCLE),
      expect.stringMatching(CIRCLE),
    ]);
    const folders = await tar(
      { name: 'a/x' },
      { name: 'b/x' },
      symlink('a/b', '../b'),
      symlink('b/a', '../a'),
    );
    expect((await problems(folders)).every((message) => CIRCLE.test(message))).toBe(true);
  });

  test('do not redirect entries with a path below them', async () => {
    const archive = await tar({ name: 'inside/x' }, symlink('l', 'inside'), { name: 'l/evil', content: 'x' });
    expect(await problems(archive)).toEqual(['The link "l" has other entries of the archive below it.']);
  });

  test('that multiply files are refused at the limits', async () => {
    const entries: Packed[] = [{ name: 'd0/x', content: 'x'.repeat(1_000) }];
    for (let level = 1; level <= 30; level++) {
      entries.push(symlink(`d${level}/l`, `../d${level - 1}`), symlink(`d${level}/r`, `../d${level - 1}`));
    }
    expect((await problems(await tar(...entries))).at(-1)).toMatch(/too many files|too large|multiply/);
    // The same without any file to count.
    entries[0] = { name: 'd0/', type: 'directory' };
    expect(await problems(await tar(...entries))).toEqual(['The links of the archive multiply without end.']);
  });
});

test('the time for links grows linearly with their number', async () => {
  // Each target descends missing folders, ascends again and leads to the next link; ten links end
  // in an empty folder.
  const walk = `${'d/'.repeat(60)}${'../'.repeat(60)}`;
  const chain = (links: number) =>
    tar(
      { name: 'empty', type: 'directory' },
      ...Array.from({ length: links }, (_, i) =>
        symlink(`l${i}`, walk + (i % 10 === 9 ? 'empty' : `l${i + 1}`)),
      ),
      ...Array.from({ length: links / 2 }, (_, i): Packed => ({ name: `f${i}` })),
    );
  const costMs = async (links: number): Promise<number> => {
    const archive = await chain(links);
    const times: number[] = [];
    for (let time = 0; time < 3; time++) {
      const limits = { uploadFiles: 100_000, uploadBytes: 100_000_000 };
      times.push(await cpuMs(async () => expect(await problems(archive, limits)).toEqual([])));
    }
    return Math.min(...times);
  };
  await costMs(200);
  // Linear cost: 8 times as much for 8 times the links. A scan of the list for each link costs 64
  // times as much.
  expect((await costMs(1_600)) / (await costMs(200))).toBeLessThan(24);
});

describe('limits', () => {
  test('as many files as allowed are read, one more is a problem', async () => {
    const archive = await tar({ name: 'a', content: '12' }, { name: 'b', content: '3' });
    expect(await unpacked(archive, { uploadFiles: 2, uploadBytes: 3 })).toEqual({ a: '12', b: '3' });
    expect(await problems(archive, { uploadFiles: 1, uploadBytes: 3 })).toEqual([
      'The upload has too many files; the limit is 1 (uploadFiles).',
    ]);
    expect(await problems(archive, { uploadFiles: 2, uploadBytes: 2 })).toEqual([
      'The upload is too large; the limit is 2 bytes (uploadBytes).',
    ]);
  });

  test('an upload at both limits fits, with a folder and a long name for each file', async () => {
    const entries = Array.from({ length: 100 }, (_, index): Packed[] => {
      const folder = `${'é'.repeat(120)}${index}/`;
      return [
        { name: folder, type: 'directory' },
        { name: `${folder}file`, content: 'x'.repeat(1_000) },
      ];
    });
    expect(Object.keys(await unpacked(gzipSync(await tar(...entries.flat()))))).toHaveLength(100);
  });

  test('a decompression bomb is stopped at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000));
    const before = heldBufferBytes();
    expect(await problems(bomb)).toEqual([
      expect.stringMatching(/^The archive unpacks to more than \d+ bytes; the limit is .*\(uploadBytes\)\.$/),
    ]);
    expect(heldBufferBytes() - before).toBeLessThan(5_000_000);
    expect(await problems(gunzipSync(bomb))).toEqual([
      expect.stringMatching(/^The archive unpacks to more than/),
    ]);
  });

  test.each([
    ['headers without a file', Buffer.concat(Array(1_000).fill(rawHeader('d/', '5', octal(0))))],
    ['a huge pax header', Buffer.concat([rawHeader('x', 'x', octal(70_000)), Buffer.alloc(70_144), END])],
    [
      'many records in one pax header',
      Buffer.concat([rawHeader('x', 'x', octal(500)), padded(Buffer.from('5 a=\n'.repeat(100))), END]),
    ],
  ])('%s are refused', async (_, archive) => {
    expect(await problems(archive)).toEqual([expect.stringMatching(/header/)]);
  });

  test('a global header of half a million keys is skipped in little time', async () => {
    const records = Buffer.from('4 =\n'.repeat(1_000_000));
    const one = Buffer.concat([rawHeader('x', 'x', octal(5)), padded(Buffer.from('5 a=\n'))]);
    const archive = Buffer.concat([
      rawHeader('g', 'g', octal(records.length)),
      padded(records),
      ...Array(1_000).fill(one),
      END,
    ]);
    const work = async () => expect(await problems(archive, DEFAULT_LIMITS)).toHaveLength(1);
    expect(await cpuMs(work)).toBeLessThan(500);
  });

  test('the worst archive of links within the limits is read within seconds', async () => {
    // Attack: each target descends and ascends as far as allowed, and then follows the next link.
    const walk = `${'d/'.repeat(60)}${'../'.repeat(60)}`;
    const entries: Packed[] = [{ name: `${'d/'.repeat(60)}x` }];
    for (let index = 0; index < 2_000; index++) entries.push(symlink(`l${index}`, `${walk}l${index + 1}`));
    const archive = await tar(...entries);
    const work = async () => expect(await problems(archive, DEFAULT_LIMITS)).not.toEqual([]);
    expect(await cpuMs(work)).toBeLessThan(2_000);
  });
});

describe('damage', () => {
  test('is reported wherever an archive is cut off', async () => {
    const archive = await tar({ name: 'a', content: 'x'.repeat(1_000) }, { name: 'b', content: 'y' });
    const whole = await unpacked(archive);
    for (let bytes = 0; bytes < archive.length; bytes += 128) {
      const found = await readArchive(archive.subarray(0, bytes), LIMITS);
      if (found.ok) expect([...found.files.keys()]).toEqual(Object.keys(whole));
      else expect(found.problems).toHaveLength(1);
    }
    // Cut between the two files: only the missing end marker shows it.
    expect(await problems(archive.subarray(0, 1_536))).toEqual([expect.stringMatching(/ends early/)]);
    expect(await problems(gzipSync(archive).subarray(0, -20))).toEqual([
      expect.stringMatching(/not valid gzip/),
    ]);
  });

  test.each([
    ['nothing', Buffer.alloc(0), /ends early/],
    ['text', Buffer.from('name: hello\n'.repeat(100)), /neither \.tar nor \.tar\.gz/],
    ['a zip', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(1_000)]), /neither \.tar nor/],
    ['gzip of something else', gzipSync(Buffer.from('x'.repeat(1_000))), /neither \.tar nor/],
    ['a size that is no number', rawHeader('a', '0', '99999999999'), /no valid size/],
    [
      'a negative size',
      rawHeader('a', '0', '\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff'),
      /checksum|no valid size|neither/,
    ],
    ['a size beyond the archive', Buffer.concat([rawHeader('a', '0', octal(99_999)), END]), /ends early/],
    [
      'a pax record of length 0',
      Buffer.concat([rawHeader('x', 'x', octal(6)), padded(Buffer.from('0 a=b\n')), END]),
      /malformed/,
    ],
    [
      'a pax record beyond its header',
      Buffer.concat([rawHeader('x', 'x', octal(6)), padded(Buffer.from('9 a=b\n')), END]),
      /malformed/,
    ],
    [
      'a pax size that is no number',
      Buffer.concat([rawHeader('x', 'x', octal(11)), padded(Buffer.from('11 size=-1\n')), END]),
      /no valid size/,
    ],
    ['an unknown type', Buffer.concat([rawHeader('a', 'Z', octal(0)), END]), /of an unknown type/],
    ['a GNU sparse file', Buffer.concat([rawHeader('a', 'S', octal(0)), END]), /a sparse file/],
  ])('%s is a problem, not a throw', async (_, archive, message) => {
    expect(await problems(archive)).toEqual([expect.stringMatching(message)]);
  });
});
