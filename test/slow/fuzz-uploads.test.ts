/** Fuzzed uploads: each is read in little time, and every problem names a line that exists. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readArchive } from '../../src/host/bundle/reading/archive.ts';
import { readPng } from '../../src/model/manifest/image.ts';
import { type ParsedManifest, parseManifest } from '../../src/model/manifest/manifest.ts';
import { type Chance, fuzz, UNTHROTTLED } from '../support/fuzz/fuzz.ts';
import { mutateBytes, mutateText } from '../support/fuzz/mutations.ts';
import { png } from '../support/png.ts';
import { TestService } from '../support/service.ts';

/** CPU that one small manifest may take; wall time would depend on the load of the machine. */
const CPU_MS_MAX = 250;

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const written = readdirSync(FIXTURES).flatMap((name) => {
  try {
    return [readFileSync(`${FIXTURES}${name}/platform-manifest.yaml`, 'utf8')];
  } catch {
    return [];
  }
});
/** Every member of a manifest, in every notation of YAML. */
const RICH = `
# A comment
name: rich
title: "A \\u0041 title"
description: >-
  folded
  text
summary: |
  literal
organization: &org acme
visibility: 'public'
scopes: [space:content:read, "space:content:write"]
script: index.js
categories: [other, visitor-auth]
target: all
blocks:
  - &block {id: one, title: One}
  - id: two
    title: Two
    description: The second.
    urlUnfurl: ["https://e.example/boards/*"]
    markdown: {codeblock: two, body: content}
configurations:
  account:
    properties:
      greeting: {type: string, title: Greeting, default: Hello}
      count: {type: number, default: 1}
      color: {type: string, enum: [red, blue], default: red, completion_url: /colors}
      shown: {type: boolean, default: true}
      oauth_credentials: {type: button, button_text: Connect, callback_url: /oauth}
    required: [greeting, oauth_credentials]
  space: {componentId: settings}
secrets: {API_KEY: "\${{ env.KEY }}", OWNER: *org}
icon: ./icon.png
previewImages: [images/one.png]
externalLinks: [{label: Site, url: "https://e.example"}]
contentSecurityPolicy: {default-src: "'self'", img-src: https}
egress: [api.e.example]
`;
const MANIFESTS = [...written, RICH, 'name: a\n', '{"name": "json", "scopes": []}', '- a\n- b\n'];
/** Tokens of YAML. */
const WORDS = [
  ...[
    '&a ',
    '*a',
    '*org',
    '&a [*a]',
    '<<: *block',
    '<<: {a: 1}',
    '!!binary ',
    '!!js/function ',
    '!<tag:x> ',
    '!x ',
  ],
  ...[
    '? ',
    '? a\n: b\n',
    ': ',
    '- ',
    '-\n',
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '%TAG ! x\n',
    '#',
    '|',
    '>',
    '|+9\n',
    '>-',
  ],
  ...[
    '{',
    '}',
    '[',
    ']',
    ', ',
    '"',
    "'",
    '\\',
    '\n',
    '\n  ',
    '\n\t',
    '\r',
    '~',
    'null',
    'yes',
    '.inf',
    '.nan',
    '0o7',
  ],
  ...[
    '1e400',
    '2001-12-14',
    '__proto__: {polluted: true}\n',
    'constructor: x\n',
    'name: b\n',
    'scopes:',
    'blocks:\n',
  ],
  ...[
    '[a: b]',
    '{a, b: c}',
    '? [a]\n: b\n',
    '"\\ud800"',
    '"\\x00"',
    '\ufeff',
    '[[[[[[[[[[[[[[[[',
    '{a: {a: {a: {a: {a: ',
  ],
];

function assertPlaces(text: string, parsed: ParsedManifest): void {
  const lines = text.split(/\n/);
  for (const { file, line, column, message } of parsed.ok ? parsed.warnings : parsed.problems) {
    const length = lines[(line ?? 0) - 1]?.length;
    assert.equal(file, 'platform-manifest.yaml');
    assert(length !== undefined && column !== undefined, `${message} has no place`);
    assert(column >= 1 && column <= length + 1, `${message} is at ${line}:${column} of a line of ${length}`);
    assert(message.endsWith('.') || message.endsWith('?') || message.endsWith('!'), message);
  }
}

/** All values of a manifest are plain, without a prototype from the text. */
function assertPlain(value: unknown): void {
  if (typeof value !== 'object' || value === null) return assert.notEqual(typeof value, 'function');
  assert([Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value)));
  for (const member of Object.values(value)) assertPlain(member);
}

test('a manifest is read, or its problems name their lines, in little time', async () => {
  let read = 0;
  await fuzz('manifests', {
    make: (random) => mutateText(random, MANIFESTS, WORDS),
    check: (text) => {
      const before = process.threadCpuUsage();
      const parsed = parseManifest(text);
      const used = process.threadCpuUsage(before);
      assert(
        used.user + used.system < CPU_MS_MAX * 1_000,
        `took ${(used.user + used.system) / 1_000} ms of CPU`,
      );
      assertPlaces(text, parsed);
      assert.equal(({} as { polluted?: unknown }).polluted, undefined);
      if (!parsed.ok) return assert(parsed.problems.length > 0);
      read += 1;
      assertPlain(parsed.manifest);
      // It survives storage as JSON.
      assert.deepEqual(JSON.parse(JSON.stringify(parsed.manifest)), parsed.manifest);
    },
  });
  expect(read).toBeGreaterThan(0);
});

test('bytes are a PNG image of a size, or their fault is named', async () => {
  const images = [png(1, 1), png(64, 64), png(16, 8, 100)];
  const words = ['IHDR', 'IDAT', 'IEND', '\0\0\0\0', '\xff\xff\xff\xff', '\x89PNG\r\n\x1a\n'];
  await fuzz('images', {
    make: (random) => mutateBytes(random, images, words),
    check: (bytes) => {
      const read = readPng(bytes);
      if (!read.ok) return assert.match(read.fault, /^is /);
      assert(read.width > 0 && read.height > 0);
      assert.deepEqual(bytes.subarray(-8, -4), Buffer.from('IEND'));
    },
  });
});

const LIMITS = { uploadFiles: 20, uploadBytes: 50_000 };

async function tar(
  ...entries: [header: Partial<Header> & { name: string }, content?: string][]
): Promise<Buffer> {
  const packing = pack();
  for (const [header, content = ''] of entries) packing.entry(header, content);
  packing.finalize();
  return Buffer.concat(await Array.fromAsync(packing as AsyncIterable<Buffer>));
}

/** Corrects the checksums of all headers, so that mutated headers are parsed. */
function withChecksums(archive: Buffer): Buffer {
  const sums = Buffer.from(archive);
  for (let at = 0; at + 512 <= sums.length; at += 512) {
    if (sums.toString('latin1', at + 257, at + 262) !== 'ustar') continue;
    sums.write('        ', at + 148);
    const sum = sums.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
    sums.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148);
  }
  return sums;
}

const TAR_WORDS = [
  '../',
  '/',
  'a',
  'ustar',
  '00000000000',
  '77777777777',
  '\x80',
  '30 path=../x\n',
  '12 size=9\n',
];

test('an archive is unpacked into files with plain names within the limits, or its problems are named', async () => {
  const archives = [
    await tar([{ name: 'src/a.ts' }, 'a'], [{ name: 'empty' }, ''], [{ name: 'folder', type: 'directory' }]),
    await tar([{ name: `${'long/'.repeat(40)}späße.ts` }, 'x'], [{ name: 'b' }, 'b'.repeat(1_500)]),
    await tar(
      [{ name: 'a/b' }, 'x'],
      [{ name: 'link', linkname: 'a', type: 'symlink' }],
      [{ name: 'hard', linkname: 'a/b', type: 'link' }],
      [{ name: 'deep/link', linkname: '../link/b', type: 'symlink' }],
    ),
  ];
  const zipped = archives.map((archive) => gzipSync(archive));
  let read = 0;
  await fuzz('archives', {
    make: (random) => {
      const archive = mutateBytes(random, archives, TAR_WORDS);
      if (random.once(10)) return mutateBytes(random, zipped);
      const whole = random.once(10) ? archive : withChecksums(archive);
      return random.once(10) ? gzipSync(whole) : whole;
    },
    check: async (archive) => {
      const result = await readArchive(archive, LIMITS);
      if (!result.ok) {
        assert(result.problems.length > 0);
        for (const { message } of result.problems) assert.match(message, /\S.*[.]$/);
        return;
      }
      read += 1;
      assert(result.files.size <= LIMITS.uploadFiles);
      let bytes = 0;
      for (const [path, content] of result.files) {
        bytes += content.byteLength;
        assert.doesNotMatch(path, /(^|\/)\.{0,2}(\/|$)|\\|\p{Cc}/u);
      }
      assert(bytes <= LIMITS.uploadBytes);
    },
  });
  expect(read).toBeGreaterThan(0);
});

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ limits: UNTHROTTLED });
});
afterAll(() => annex.stop());

const CRLF = '\r\n';
const field = (name: string, value: string, filename = '') =>
  `--b${CRLF}content-disposition: form-data; name="${name}"${filename && `; filename="${filename}"`}${CRLF}${CRLF}${value}${CRLF}`;
const SCRIPT = 'export default { fetch: () => new Response("ok") };';
const UPLOAD_WORDS = [
  '--b\r\n',
  '\r\n',
  '; name="secrets"',
  '; filename="../x"',
  'archive',
  'script',
  '{"A":1}',
  '\0',
];

/** A manifest without images, which are not among the files. */
const PUBLISHABLE = RICH.replaceAll(/^(icon|previewImages): .*\n/gm, '');

/** An upload with a mutated manifest, or with mutated multipart. */
function hostileUpload(random: Chance): Buffer {
  const manifest = random.once(2) ? mutateText(random, [RICH, ...written], WORDS) : PUBLISHABLE;
  const upload =
    field('manifest', manifest) + field('files', SCRIPT, 'index.js') + field('secrets', '{"API_KEY":"x"}');
  const body = Buffer.from(`${upload}--b--${CRLF}`);
  return manifest === PUBLISHABLE ? mutateBytes(random, [body], UPLOAD_WORDS) : body;
}

test('an upload is published, or refused with a reason', async () => {
  const statuses = new Set<number>();
  await fuzz('uploads', {
    atOnce: 2,
    make: hostileUpload,
    check: async (body) => {
      const response = await fetch(`${annex.service.controlUrl}/v1/integrations`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${annex.admin}`,
          'content-type': 'multipart/form-data; boundary=b',
        },
        body,
      });
      const text = await response.text();
      statuses.add(response.status);
      if (response.status === 201) return;
      const { error } = JSON.parse(text) as { error: { code: string } };
      assert.match(`${response.status} ${error.code}`, /^(400 REQUEST_INVALID|422 PUBLISH_INVALID)$/, text);
    },
  });
  expect(statuses.size).toBeGreaterThan(1);
});
