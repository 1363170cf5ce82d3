/**
 * Publishing up to the publish probe: forms of uploads, rights, and reported problems.
 */
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readForm } from '../../../src/host/bundle/reading/read-form.ts';
import { inspectExports, probeProblem } from '../../../src/host/publish/probe-check.ts';
import { Publisher } from '../../../src/host/publish/publish.ts';
import { receiveUpload } from '../../../src/host/publish/receive-upload.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import type { Scope } from '../../../src/model/manifest/scope.ts';
import type { Principal } from '../../../src/model/principal.ts';
import type { CallEnd } from '../../../src/protocol/wire.ts';
import {
  manifestYaml,
  OPERATOR,
  parsed,
  published,
  temporaryStore,
} from '../../support/store/temporary-store.ts';

type Part = [name: string, content: string | Uint8Array<ArrayBuffer>, filename?: string];

/** A body as a browser or curl would send it. */
async function bodyOf(parts: readonly Part[]): Promise<{ bytes: Uint8Array; contentType: string }> {
  const form = new FormData();
  for (const [name, content, filename] of parts) {
    if (filename === undefined && typeof content === 'string') form.append(name, content);
    else form.append(name, new Blob([content]), filename ?? 'blob');
  }
  const response = new Response(form);
  return {
    bytes: new Uint8Array(await response.arrayBuffer()),
    contentType: response.headers.get('content-type') ?? '',
  };
}

async function received(parts: readonly Part[], limits: Partial<Limits> = {}) {
  const { bytes, contentType } = await bodyOf(parts);
  return receiveUpload(Readable.from([bytes]), contentType, { ...DEFAULT_LIMITS, ...limits });
}

const read = async (parts: readonly Part[], limits: Partial<Limits> = {}) =>
  readForm(await received(parts, limits), { ...DEFAULT_LIMITS, ...limits });

async function problemsOf(parts: readonly Part[], limits: Partial<Limits> = {}): Promise<string[]> {
  const reading = await read(parts, limits);
  return reading.ok
    ? []
    : reading.problems.map(({ file, message }) => (file ? `${file}: ${message}` : message));
}

const MANIFEST: Part = ['manifest', manifestYaml({}, 'script: src/index.ts')];
const INDEX: Part = ['files', 'export default {}', 'src/index.ts'];

describe('an upload', () => {
  test('is a manifest, files by their relative path, and secrets', async () => {
    const reading = await read([MANIFEST, INDEX, ['files', 'x', 'src/ü/a.ts'], ['secrets', '{"A":"1"}']]);
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const { upload } = reading;
    expect([...upload.files.keys()]).toEqual(['src/index.ts', 'src/ü/a.ts']);
    expect(String(upload.files.get('src/index.ts'))).toBe('export default {}');
    expect([...upload.secrets]).toEqual([['A', '1']]);
    // Forms send the lines of a text field with CRLF.
    expect(upload.manifest.replaceAll('\r\n', '\n')).toBe(MANIFEST[1]);
  });

  test('may contain the manifest as a file part, or among its files', async () => {
    for (const manifest of [
      ['manifest', MANIFEST[1], 'm.yaml'],
      ['files', MANIFEST[1], 'platform-manifest.yaml'],
    ]) {
      const reading = await read([manifest as Part, INDEX]);
      expect(reading).toMatchObject({ ok: true, upload: { manifest: MANIFEST[1] } });
    }
  });

  test('has its manifest in the one file of that name, or in the one that it names', async () => {
    const other: Part = ['files', MANIFEST[1], 'acme-manifest.yaml'];
    const packed: Part = ['files', 'name: x', 'node_modules/acme/acme-manifest.yaml'];
    expect(await read([other, packed, INDEX])).toMatchObject({
      ok: true,
      upload: { manifest: MANIFEST[1], manifestFile: 'acme-manifest.yaml', folder: '' },
    });
    const deep: Part = ['files', MANIFEST[1], 'apps/board/acme-manifest.yaml'];
    expect(await read([deep, INDEX])).toMatchObject({
      ok: true,
      upload: { manifestFile: 'apps/board/acme-manifest.yaml', folder: 'apps/board/' },
    });
    const second: Part = ['files', 'name: y\norganization: acme', 'test-manifest.yaml'];
    expect(await problemsOf([other, second, INDEX])).toEqual([
      'The upload has 2 manifests: "acme-manifest.yaml", "test-manifest.yaml".',
    ]);
    expect(await read([other, second, INDEX, ['manifest', './acme-manifest.yaml']])).toMatchObject({
      ok: true,
      upload: { manifest: MANIFEST[1], manifestFile: 'acme-manifest.yaml' },
    });
  });

  test('may name an environment', async () => {
    expect(await read([MANIFEST, INDEX, ['env', 'staging']])).toMatchObject({
      ok: true,
      upload: { environment: 'staging' },
    });
    expect(await problemsOf([MANIFEST, INDEX, ['env', 'x'.repeat(129)]])).toHaveLength(1);
  });

  test('has either files or an archive, and its code once', async () => {
    const archive: Part = ['archive', new Uint8Array(1_024)];
    expect(await problemsOf([MANIFEST, INDEX, archive])).toContain('The upload has its code twice.');
    expect(await problemsOf([MANIFEST, INDEX, ['script', 'export default {}']])).toEqual([]);
  });

  test('may be one ready script', async () => {
    const reading = await read([MANIFEST, ['script', 'export default {}']]);
    expect(reading).toMatchObject({ ok: true, upload: { script: 'export default {}' } });
  });

  test('is answered with all problems of its parts at once', async () => {
    const problems = await problemsOf([
      ['secrets', '{"A": 1}'],
      ['files', 'x', '../../etc/passwd'],
      ['files', 'x', '/etc/passwd'],
      ['files', 'x', 'a\\b.ts'],
      ['script', new Uint8Array([0xff, 0xfe])],
      ['script', 'twice'],
      ['secret', '{}'],
    ]);
    expect(problems).toEqual(
      expect.arrayContaining([
        'secrets: The value of "A" must be a text.',
        'script: This is not UTF-8 text.',
        'script: The part "script" is there twice.',
        'The upload has no manifest.',
        'The part "secret" is not a known part.',
        expect.stringContaining('contains ".."'),
        expect.stringContaining('is absolute'),
        expect.stringContaining('contains a backslash'),
      ]),
    );
  });

  test.each([
    ['[]', ['The secrets must be a JSON object of texts.']],
    ['{"A": "planted",\n}', ['The secrets are not JSON: a name in double quotes is expected here.']],
    [
      '{"A": ["planted"], "B": "x", "C": null}',
      ['A', 'C'].map((name) => `The value of "${name}" must be a text.`),
    ],
  ])('names the secrets that are not texts, and no value: %s', async (secrets, reported) => {
    const reading = await read([MANIFEST, INDEX, ['secrets', secrets]]);
    expect(reading.ok ? [] : reading.problems.map(({ message }) => message)).toEqual(reported);
    expect(JSON.stringify(reading)).not.toContain('planted');
    if (secrets.endsWith('\n}')) expect(reading).toMatchObject({ problems: [{ line: 2, column: 1 }] });
  });

  test('without code is refused', async () => {
    expect(await problemsOf([MANIFEST])).toEqual(['The upload has no code.']);
  });

  test('has at most as many files as the limit', async () => {
    const files = (count: number) =>
      Array.from({ length: count }, (_, i): Part => ['files', 'x', `f${i}.ts`]);
    expect(await problemsOf([MANIFEST, ...files(5)], { uploadFiles: 5 })).toEqual([]);
    expect(await problemsOf([MANIFEST, ...files(6)], { uploadFiles: 5 })).toHaveLength(1);
    expect((await problemsOf([MANIFEST, ...files(60)], { uploadFiles: 5 })).length).toBeLessThanOrEqual(3);
  });

  test('has at most as many bytes as the limit; one more is 413', async () => {
    const filled = (bytes: number): Part[] => [
      ['manifest', MANIFEST[1], 'platform-manifest.yaml'],
      ['files', new Uint8Array(bytes - Buffer.byteLength(String(MANIFEST[1]))), 'a.ts'],
    ];
    expect(await problemsOf(filled(10_000), { uploadBytes: 10_000 })).toEqual([]);
    await expect(read(filled(10_001), { uploadBytes: 10_000 })).rejects.toMatchObject({
      code: 'REQUEST_TOO_LARGE',
      limit: { name: 'uploadBytes', max: 10_000 },
    });
  });

  test('is bounded also for bytes outside of its parts', async () => {
    const body = Readable.from(Array(100).fill(Buffer.alloc(64 * 1024, 'x')));
    const limits = { ...DEFAULT_LIMITS, uploadBytes: 10_000, uploadFiles: 5 };
    const reading = receiveUpload(body, 'multipart/form-data; boundary=b', limits);
    await expect(reading).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' });
    expect(body.destroyed).toBe(false);
  });

  test('with more secrets than the limit is refused without listing each', async () => {
    const secrets = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`S${i}`, 'x']));
    expect(await problemsOf([MANIFEST, INDEX, ['secrets', JSON.stringify(secrets)]])).toHaveLength(1);
  });

  test.each([
    [
      'is cut off',
      '--b\r\nContent-Disposition: form-data; name="manifest"\r\n\r\nname:',
      'multipart/form-data; boundary=b',
    ],
    ['has no boundary', '', 'multipart/form-data'],
    ['is of another type', 'a=b', 'application/x-www-form-urlencoded'],
  ])('that %s is an invalid request', async (_why, text, contentType) => {
    const reading = receiveUpload(Readable.from([Buffer.from(text)]), contentType, DEFAULT_LIMITS);
    await expect(reading).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
  });

  test('whose sender disconnects is reported as such', async () => {
    const body = new Readable({ read() {} });
    const reading = receiveUpload(body, 'multipart/form-data; boundary=b', DEFAULT_LIMITS);
    body.destroy(new Error('aborted'));
    await expect(reading).rejects.toMatchObject({ code: 'CALL_CANCELED' });
  });
});

describe('publishing', () => {
  const acme: Principal = { tokenId: 't', kind: 'organization', organization: 'acme' };
  const admin: Principal = { tokenId: 't', kind: 'admin' };

  /**
   * A publisher for uploads that are refused before their code is run: the probe fails the test.
   */
  const publisherOver = async () => {
    const { registry } = await temporaryStore();
    const probe = () => Promise.reject(new Error('This upload must not be run.'));
    const publisher = new Publisher({ registry, limits: DEFAULT_LIMITS, probe });
    const publish = async (parts: readonly Part[], principal: Principal) => {
      return publisher.publish(await received(parts), { ...OPERATOR, principal });
    };
    return { registry, publish };
  };

  test('for another organization is forbidden, and so is publishing for the host product', async () => {
    const { publish } = await publisherOver();
    const foreign: Part = ['manifest', manifestYaml({ organization: 'rival' })];
    await expect(publish([foreign, INDEX], acme)).rejects.toMatchObject({ code: 'TOKEN_FORBIDDEN' });
    const platform: Principal = { tokenId: 't', kind: 'platform' };
    await expect(publish([MANIFEST, INDEX], platform)).rejects.toMatchObject({ code: 'TOKEN_FORBIDDEN' });
  });

  test.each([
    ['its owner by another organization', acme],
    ['its owner by the operator', admin],
  ])('does not take over a name of %s', async (_who, principal) => {
    const { registry, publish } = await publisherOver();
    await registry.publish(
      {
        manifest: published({ organization: 'rival' }),
        script: '',
        sourceMap: '{}',
        secrets: new Map(),
      },
      OPERATOR,
    );
    expect(await publish([MANIFEST, INDEX], principal)).toMatchObject({
      ok: false,
      problems: [{ message: 'The name "hello" belongs to another organization.' }],
    });
    expect(await registry.integration('hello')).toMatchObject({ organization: 'rival', activeVersion: 1 });
  });

  test('reports the problems of manifest, secrets and code together, and changes nothing', async () => {
    const { registry, publish } = await publisherOver();
    const parts: Part[] = [
      ['manifest', manifestYaml({}, `script: ./src/index.ts\nsecrets:\n  TOKEN: \${{ env.TOKEN }}\nicn: x`)],
      ['files', 'import "./missing.ts";\nexport default {', 'src/index.ts'],
      ['secrets', '{"OTHER":"x"}'],
    ];
    const result = await publish(parts, acme);
    const messages = result.ok
      ? []
      : result.problems.map(({ file, line, message }) => `${file}:${line} ${message}`);
    expect(messages).toEqual(
      expect.arrayContaining([
        'platform-manifest.yaml:10 "icn" is not a known key and is ignored.',
        'platform-manifest.yaml:9 The secret "TOKEN" needs the variable "TOKEN", which has no value.',
        'secrets:undefined The manifest declares no secret "OTHER".',
        expect.stringMatching(/^src\/index\.ts:2 /),
      ]),
    );
    expect(await registry.integration('hello')).toBeUndefined();
  });

  test('a broken manifest does not hide the problems of the code', async () => {
    const { publish } = await publisherOver();
    const broken: Part = ['manifest', 'script: src/index.ts'];
    const result = await publish([broken, ['files', 'export default {', 'src/index.ts']], acme);
    const files = new Set(result.ok ? [] : result.problems.map(({ file }) => file));
    expect(files).toEqual(new Set(['platform-manifest.yaml', 'src/index.ts']));
  });

  test('keeps the stored value of a secret that is not sent, and asks for one that is nowhere', async () => {
    const { registry, publish } = await publisherOver();
    const secrets = `script: src/index.ts\nsecrets:\n  OLD: \${{ env.OLD }}\n  NEW: \${{ env.NEW }}`;
    const broken: Part = ['files', 'export default {', 'src/index.ts'];
    const messages = async () => {
      const result = await publish([['manifest', manifestYaml({}, secrets)], broken], acme);
      return result.ok ? [] : result.problems.filter(({ line }) => line !== 1).map(({ message }) => message);
    };
    expect(await messages()).toEqual([
      'The secret "OLD" needs the variable "OLD", which has no value.',
      'The secret "NEW" needs the variable "NEW", which has no value.',
    ]);
    const before = { manifest: published(), script: '', sourceMap: '{}' };
    await registry.publish({ ...before, secrets: new Map([['OLD', 'x']]) }, OPERATOR);
    expect(await messages()).toEqual(['The secret "NEW" needs the variable "NEW", which has no value.']);
  });

  test('does not take a name that differs from another organization’s in capitals only', async () => {
    const { registry } = await publisherOver();
    const code = { script: '', sourceMap: '{}', secrets: new Map() };
    const version = (name: string, organization: string) =>
      registry.publish({ manifest: published({ name, organization }), ...code }, OPERATOR);
    expect(await version('hello', 'rival')).toMatchObject({ version: 1 });
    expect(await version('Hello', 'acme')).toBeUndefined();
    expect(await registry.integration('Hello')).toBeUndefined();
    expect(await version('Hello', 'rival')).toMatchObject({ version: 1 });
  });

  test('files need an entrypoint', async () => {
    const { publish } = await publisherOver();
    expect(await publish([['manifest', manifestYaml()], INDEX], acme)).toMatchObject({
      ok: false,
      problems: [{ message: '"script" must name the entrypoint among the files.' }],
    });
  });

  test.each(['README.md', 'data.json', 'style.css', 'page.raw.js', 'manifest.yaml'])(
    'an entrypoint that is no code is refused at its line of the manifest: %s',
    async (script) => {
      const { publish } = await publisherOver();
      const manifest = manifestYaml({}, `script: ${script}`);
      const parts: Part[] = [
        ['manifest', manifest],
        ['files', 'x: y', script],
      ];
      expect(await publish(parts, acme)).toMatchObject({
        ok: false,
        problems: [
          {
            file: 'platform-manifest.yaml',
            line: manifest.split('\n').findIndex((line) => line.startsWith('script:')) + 1,
            message: `"script" names "${script}", which is no JavaScript or TypeScript file.`,
            hint: 'Name the file that has the default export, such as src/index.ts.',
          },
        ],
      });
    },
  );

  test('a ready script has the same rules as files', async () => {
    const { publish } = await publisherOver();
    const problemsOfScript = async (script: string) => {
      const result = await publish([MANIFEST, ['script', script]], acme);
      return result.ok ? [] : result.problems.map(({ file, message }) => `${file}: ${message}`);
    };
    expect(await problemsOfScript('export default {')).toEqual([expect.stringMatching(/^script\.js: /)]);
    expect(await problemsOfScript('export default /\0/')).toEqual([
      'script.js: The code contains a NUL character.',
    ]);
  });

  test('a thousand problems are answered with a hundred, errors first', async () => {
    const { publish } = await publisherOver();
    const unknown = Array.from({ length: 1_000 }, (_, i) => `unknown${i}: 1`).join('\n');
    const result = await publish(
      [
        ['manifest', `${unknown}\nname: x`],
        ['files', '', 'a.ts'],
      ],
      acme,
    );
    const problems = result.ok ? [] : result.problems;
    expect(problems).toHaveLength(101);
    expect(problems[0]?.severity).toBe('error');
    expect(problems.at(-1)?.message).toMatch(/more problems/);
  });
});

describe('a probed script', () => {
  const exports = { fetch: true, sdk: true, components: ['unfurl'], events: ['space_view'] };
  const withBlocks = parsed(manifestYaml({}, 'blocks:\n  - {id: unfurll, title: T}'));
  const plain = parsed(manifestYaml());
  const inspect = (found: Partial<typeof exports>, against = plain) =>
    inspectExports({ ...exports, ...found }, 'src/index.ts', against);
  const withScope = (scope: Scope) => ({ ...plain, manifest: { ...plain.manifest, scopes: [scope] } });

  test('must export a fetch function', () => {
    expect(inspect({ fetch: false })).toMatchObject([{ severity: 'error', file: 'src/index.ts' }]);
  });

  test('must have a component for each block', () => {
    const [missing] = inspect({}, withBlocks);
    expect(missing).toMatchObject({
      severity: 'error',
      file: 'platform-manifest.yaml',
      line: 8,
      column: 10,
      hint: 'Did you mean "unfurl"?',
    });
    expect(missing?.message).toBe('The block "unfurll" has no component. The script declares "unfurl".');
  });

  test('without the SDK is responsible for its own components', () => {
    expect(inspect({ sdk: false, components: [], events: [] }, withBlocks)).toEqual([]);
  });

  test('has a warning for a handler whose scope the manifest lacks', () => {
    expect(inspect({})).toMatchObject([
      { severity: 'warning', line: 6, message: expect.stringContaining('space:metadata:read') },
    ]);
    expect(inspect({}, withScope('space:metadata:read'))).toEqual([]);
    for (const scope of ['site:views:read', 'page:feedback:read'] as const)
      expect(inspect({ events: ['page_feedback'] }, withScope(scope))).toEqual([]);
  });

  test('that did not load has the reason in its problems', () => {
    const context = { limits: DEFAULT_LIMITS, entry: 'src/index.ts', toSource: (text: string) => text };
    const reported = (end: CallEnd) => probeProblem(end, context).message;
    expect(reported({ outcome: 'exception', cpuMs: 1, detail: 'TypeError: no' })).toBe(
      'The script throws while it loads. TypeError: no',
    );
    expect(
      reported({ outcome: 'exceededCpu', cpuMs: 1_000, limit: { name: 'callCpuMs', used: 1_004 } }),
    ).toBe('The script uses up its CPU time while it loads; the limit is 1,000 ms (callCpuMs).');
  });
});
