/**
 * Icons and previews: only valid images are published, and principals that may see the integration
 * may read them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectImages, ICON_BYTES_MAX, PREVIEW_BYTES_MAX } from '../../../src/host/bundle/reading/images.ts';
import { readConfig } from '../../../src/host/config.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { readImage } from '../../../src/model/manifest/image.ts';
import { jpeg, jpegSegment } from '../../support/jpeg.ts';
import { cpuMs } from '../../support/measure/cpu-time.ts';
import { askPublic } from '../../support/module-worker.ts';
import { PNG_SIGNATURE, png, pngChunk, pngHeader } from '../../support/png.ts';
import { startTestService, TestService } from '../../support/service.ts';
import { manifestYaml, OPERATOR, parsed } from '../../support/store/temporary-store.ts';

describe('a PNG image', () => {
  test('is parsed for its size', () => {
    expect(readImage(png(1_600, 800))).toEqual({ ok: true, width: 1_600, height: 800 });
    expect(readImage(png(1, 1, 10_000))).toMatchObject({ ok: true });
  });

  const whole = png(4, 4);
  const flipped = (at: number) => Buffer.from(whole).fill(0xff - (whole[at] ?? 0), at, at + 1);
  const pixels = pngChunk('IDAT', Buffer.from([1, 2, 3]));
  const made = (...chunks: Buffer[]) => Buffer.concat([PNG_SIGNATURE, ...chunks]);
  const header = (at: number, byte: number) => {
    const data = Buffer.from(pngHeader(4, 4).subarray(8, 21));
    data[at] = byte;
    return pngChunk('IHDR', data);
  };
  test.each<[what: string, bytes: Uint8Array, fault: string]>([
    ['nothing', Buffer.alloc(0), 'is not a PNG image'],
    ['text', Buffer.from('hello'), 'is not a PNG image'],
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>'), 'is not a PNG image'],
    ['a script in an SVG', Buffer.from('<svg onload="alert(1)">'), 'is an SVG'],
    [
      'a PNG sent as text',
      Buffer.from(PNG_SIGNATURE.toString('latin1').replace('\r\n', '\n'), 'latin1'),
      'as if it were text',
    ],
    ['a signature', PNG_SIGNATURE, 'cut off'],
    ['one byte less', whole.subarray(0, -1), 'cut off'],
    ['a chunk less', whole.subarray(0, -12), 'cut off'],
    ['a wrong width', flipped(19), 'a checksum is wrong'],
    ['wrong pixels', flipped(45), 'a checksum is wrong'],
    ['a chunk that is said to be 4 GiB', made(pngHeader(4, 4), Buffer.alloc(12, 0xff)), 'cut off'],
    ['no header', made(pixels, pngChunk('IEND')), 'not where it belongs'],
    [
      'a second header',
      made(pngHeader(1, 1), pngHeader(9_999, 1), pixels, pngChunk('IEND')),
      'not where it belongs',
    ],
    ['a short header', made(pngChunk('IHDR', Buffer.alloc(12)), pixels, pngChunk('IEND')), 'makes no sense'],
    ['no width', made(pngHeader(0, 4), pixels, pngChunk('IEND')), 'makes no sense'],
    ['a negative height', made(pngHeader(4, 2 ** 31), pixels, pngChunk('IEND')), 'makes no sense'],
    ['a depth of 3 bits', made(header(8, 3), pixels, pngChunk('IEND')), 'makes no sense'],
    ['an unknown colour type', made(header(9, 5), pixels, pngChunk('IEND')), 'makes no sense'],
    ['an unknown interlacing', made(header(12, 2), pixels, pngChunk('IEND')), 'makes no sense'],
    ['no pixels', made(pngHeader(4, 4), pngChunk('IEND')), 'cut off'],
    // Attack: an image by its beginning, an archive or a page by its end.
    ['an archive behind it', Buffer.concat([whole, Buffer.from('PK\x03\x04')]), 'something else behind it'],
  ])('is not %s', (_what, bytes, fault) => {
    expect(readImage(bytes)).toEqual({ ok: false, fault: expect.stringContaining(fault) });
  });

  test('with many tiny chunks is checked at once', () => {
    const chunks = Buffer.concat(Array(150_000).fill(pngChunk('tEXt')));
    const bytes = made(pngHeader(4, 4), chunks, pixels, pngChunk('IEND'));
    expect(cpuMs(() => expect(readImage(bytes)).toMatchObject({ ok: true }))).toBeLessThan(1_000);
  });
});

describe('a JPEG image', () => {
  const whole = jpeg(300, 200);
  const segment = (marker: number, data: number[]) => jpegSegment(marker, Buffer.from(data));
  const made = (...parts: Buffer[]) => Buffer.concat([Buffer.from([0xff, 0xd8]), ...parts]);
  const [frame, scan, end] = [
    segment(0xc0, [8, 0, 4, 0, 4, 1]),
    Buffer.concat([segment(0xda, [1]), Buffer.from([1, 0xff, 0, 0xff, 0xd0, 2])]),
    Buffer.from([0xff, 0xd9]),
  ];

  test('is parsed for its size, also with several scans and comments', () => {
    expect(readImage(whole)).toEqual({ ok: true, width: 300, height: 200 });
    const progressive = made(segment(0xfe, [0xff, 0xd9]), frame, scan, Buffer.from([0xff]), scan, end);
    expect(readImage(progressive)).toEqual({ ok: true, width: 4, height: 4 });
  });

  test.each<[what: string, bytes: Uint8Array, fault: string]>([
    ['a beginning', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 'cut off'],
    ['one byte less', whole.subarray(0, -1), 'cut off'],
    ['a segment beyond the end', made(Buffer.from([0xff, 0xe0, 0xff, 0xff])), 'cut off'],
    ['a segment without a length', made(Buffer.from([0xff, 0xe0, 0, 0])), 'damaged'],
    ['no frame', made(segment(0xe0, [1]), scan, end), 'cut off'],
    ['no pixels', made(frame, end), 'cut off'],
    ['no width', made(segment(0xc0, [8, 0, 4, 0, 0, 1]), scan, end), 'damaged'],
    // Attack: a small frame for this check, and a huge one for a decoder that takes the last.
    ['two frames', made(frame, segment(0xc2, [8, 0xff, 0xff, 0xff, 0xff, 1]), scan, end), 'damaged'],
    ['a frame behind its pixels', made(frame, scan, frame, scan, end), 'damaged'],
    ['bytes between segments', made(segment(0xe0, [1]), Buffer.from('<script>')), 'damaged'],
    // Attack: an image by its beginning, an archive or a page by its end.
    ['an archive behind it', Buffer.concat([whole, Buffer.from('PK\x03\x04')]), 'something else behind it'],
  ])('is not %s', (_what, bytes, fault) => {
    expect(readImage(bytes)).toEqual({ ok: false, fault: expect.stringContaining(fault) });
  });

  test('of stuffed bytes or tiny segments only is checked at once', () => {
    const stuffed = made(frame, segment(0xda, [1]), Buffer.alloc(2_000_000, Buffer.from([0xff, 0])), end);
    const tiny = made(Buffer.alloc(2_000_000, segment(0xe0, [])), frame, scan, end);
    for (const bytes of [stuffed, tiny])
      expect(cpuMs(() => expect(readImage(bytes)).toMatchObject({ ok: true }))).toBeLessThan(1_000);
  });
});

describe('the images of a manifest', () => {
  const problemsOf = (more: string, files: Record<string, Uint8Array>) => {
    const { manifest, placeOf } = parsed(manifestYaml({}, more));
    const { problems } = collectImages({
      ...{ manifest, placeOf, limits: DEFAULT_LIMITS },
      files: new Map(Object.entries(files)),
    });
    return problems.map(
      ({ severity, line, message, hint }) => `${severity} ${line}: ${message} ${hint ?? ''}`,
    );
  };
  const icon = (content: Uint8Array) => problemsOf('icon: ./i.png', { 'i.png': content });
  const preview = (content: Uint8Array) => problemsOf('previewImages: [p.png]', { 'p.png': content });

  test('must be among the uploaded files', () => {
    expect(problemsOf('icon: icon.png', { 'ikon.png': png(1, 1) })).toEqual([
      'error 7: The image "icon.png" is not among the uploaded files. Did you mean "ikon.png"?',
    ]);
    expect(problemsOf('previewImages:\n  - start.png\n  - end.png', { 'start.png': png(2, 1) })).toEqual([
      'error 9: The image "end.png" is not among the uploaded files. Upload it with the code.',
    ]);
  });

  test.each([1, 64, 1_024])('may be a square icon of %i pixels', (side) => {
    expect(icon(png(side, side))).toEqual([]);
  });

  test.each([
    ['is not square', png(64, 32), 'has 64 × 32 pixels, which is not a square'],
    ['is too wide', png(1_025, 1_025), 'a square of at most 1024 × 1024 pixels'],
    ['is a JPEG', jpeg(64, 64), 'is a JPEG, whose edges blur. Save it as PNG.'],
    ['has many bytes', png(8, 8, 250 * 1024), 'at most 250 KiB are recommended'],
  ])('may be an icon that %s, with a warning', (_what, content, said) => {
    expect(icon(content)).toEqual([expect.stringContaining(said)]);
    expect(icon(content)[0]).toMatch(/^warning 7: /);
  });

  test.each([
    // Attack: a small upload that decodes to a gigabyte in a browser.
    ['has too many pixels', png(8_192, 4_097), 'at most 8192 on each side'],
    ['is too wide for a browser', jpeg(8_193, 1), 'at most 8192 on each side'],
    ['is no PNG', Buffer.from('GIF89a'), 'The file "i.png" is a GIF, not a PNG image. Save it as PNG.'],
    ['has too many bytes', png(8, 8, ICON_BYTES_MAX), 'at most 512 KiB are allowed'],
  ])('may not be an icon that %s', (_what, content, said) => {
    expect(icon(content)).toEqual([expect.stringContaining(said)]);
    expect(icon(content)[0]).toMatch(/^error 7: /);
  });

  test('may be an icon of exactly the largest size', () => {
    expect(icon(png(8, 8, ICON_BYTES_MAX - png(8, 8, 1).length + 1))).toEqual([
      expect.stringMatching(/^warning/),
    ]);
    expect(icon(png(8, 8, 250 * 1024 - png(8, 8, 1).length + 1))).toEqual([]);
  });

  test('are checked as icons for blocks', () => {
    const block = 'blocks:\n  - {id: a, title: A, icon: b.png}';
    expect(problemsOf(block, { 'b.png': png(8, 8) })).toEqual([]);
    expect(problemsOf(block, { 'b.png': png(8, 4) })).toEqual([
      expect.stringMatching(/^warning 8: .*square/),
    ]);
  });

  test.each([
    [1_600, 800],
    [1_000, 500],
    [8_192, 4_096],
  ])('may be previews of %i × %i', (width, height) => {
    expect(preview(png(width, height))).toEqual([]);
  });

  test('may be previews of another ratio, with a warning that names both sizes', () => {
    expect(preview(png(1_000, 600))).toEqual([
      expect.stringMatching(/^warning 7: .*has 1000 × 600 pixels.* 1600 × 800 pixels are recommended\.$/),
    ]);
  });

  test('may be previews of up to a megabyte without a warning', () => {
    expect(preview(png(16, 8, 1024 * 1024))).toEqual([expect.stringMatching(/^warning 7: .*1024 KiB/)]);
  });

  test.each([
    // Attack: a small upload that decodes to a gigabyte in a browser.
    [
      'has too many pixels',
      Buffer.concat([PNG_SIGNATURE, pngHeader(30_000, 15_000), pngChunk('IDAT'), pngChunk('IEND')]),
      'at most 8192 on each side',
    ],
    ['has too many bytes', png(16, 8, PREVIEW_BYTES_MAX), 'at most 2048 KiB are allowed'],
    ['is cut off', png(16, 8).subarray(0, 40), 'cut off'],
  ])('may not be a preview that %s', (_what, content, said) => {
    expect(preview(content)).toEqual([expect.stringMatching(/^error 7: /)]);
    expect(preview(content)[0]).toContain(said);
  });
});

describe('published images', () => {
  let annex: TestService;
  let organization: string;
  let stranger: string;
  beforeAll(async () => {
    annex = await TestService.start();
    const tokenOf = async (id: string) =>
      (await annex.service.store.tokens.create({ kind: 'organization', organization: id }, OPERATOR)).token;
    [organization, stranger] = [await tokenOf('acme'), await tokenOf('rival')];
  });
  afterAll(() => annex.stop());

  const SCRIPT = 'export default { fetch: () => new Response() };';
  const publish = (
    name: string,
    more: string,
    images: Record<string, Buffer<ArrayBuffer>>,
    visibility = 'public',
  ) => {
    const form = new FormData();
    form.append('manifest', manifestYaml({ name, visibility }, `script: index.js\n${more}`));
    form.append('files', new Blob([SCRIPT]), 'index.js');
    for (const [path, content] of Object.entries(images)) form.append('files', new Blob([content]), path);
    return annex.api('POST', '/v1/integrations', { form });
  };
  const get = (path: string, token = annex.admin, headers: Record<string, string> = {}) =>
    fetch(`${annex.service.controlUrl}/v1/integrations/${path}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });

  test('are served unchanged, declared as images, and not sent again to clients that have them', async () => {
    const content = png(32, 32);
    expect(await publish('pictured', 'icon: ./images/ü 1.png', { 'images/ü 1.png': content })).toMatchObject({
      status: 201,
      body: { warnings: [] },
    });
    const path = `pictured/images/images/${encodeURIComponent('ü 1.png')}`;
    const answer = await get(path, stranger);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(content);
    const tag = answer.headers.get('etag') ?? '';
    expect((await get(path, stranger, { 'if-none-match': tag })).status).toBe(304);
    expect((await get(path, stranger, { 'if-none-match': '"another"' })).status).toBe(200);
  });

  test('of a ready script come beside it, and a JPEG is served as one', async () => {
    const form = new FormData();
    form.append('script', SCRIPT);
    form.append(
      'files',
      new Blob([manifestYaml({ name: 'ready' }, 'script: ./src/index.tsx\nicon: i.jpg')]),
      'acme-manifest.yaml',
    );
    form.append('files', new Blob([jpeg(32, 32)]), 'i.jpg');
    expect(await annex.api('POST', '/v1/integrations', { form })).toMatchObject({
      status: 201,
      body: { warnings: [{ file: 'acme-manifest.yaml', line: 8 }] },
    });
    const answer = await get('ready/images/i.jpg');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(jpeg(32, 32));
  });

  test('are those of the active version', async () => {
    await publish('changing', 'icon: a.png', { 'a.png': png(1, 1) });
    await publish('changing', 'icon: b.png', { 'b.png': png(2, 2), 'c.png': png(3, 3) });
    expect((await get('changing/images/b.png')).status).toBe(200);
    for (const absent of ['a.png', 'c.png', 'index.js', '../changing/images/%00', '..%2fb.png']) {
      const answer = await get(`changing/images/${absent}`);
      expect([400, 404]).toContain(answer.status);
    }
    expect(await (await get('changing/images/a.png')).json()).toMatchObject({
      error: { code: 'IMAGE_UNKNOWN' },
    });
    await annex.api('POST', '/v1/integrations/changing/versions/1/activate');
    expect((await get('changing/images/a.png')).status).toBe(200);
    expect((await get('changing/images/b.png')).status).toBe(404);
  });

  test('of a private integration are unknown to others', async () => {
    await publish('secretive', 'icon: a.png', { 'a.png': png(1, 1) }, 'private');
    expect((await get('secretive/images/a.png', organization)).status).toBe(200);
    const others = await (await get('secretive/images/a.png', stranger)).json();
    const absent = await (await get('nobody/images/a.png', stranger)).json();
    expect([others, absent]).toMatchObject([
      { error: { code: 'INTEGRATION_UNKNOWN' } },
      { error: { code: 'INTEGRATION_UNKNOWN' } },
    ]);
    expect((await fetch(`${annex.service.controlUrl}/v1/integrations/secretive/images/a.png`)).status).toBe(
      401,
    );
  });

  describe('are public at the endpoint of the integration', () => {
    const SVG = Buffer.from(
      '\ufeff<?xml version="1.0"?>\n<!-- a logo -->\n<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>',
    );
    const GIF = Buffer.from('GIF89a\u0002\0\u0001\0\0\0\0;', 'latin1');
    const webp = Buffer.alloc(30);
    webp.write('RIFF____WEBPVP8X', 'latin1');
    webp.writeUIntLE(99, 24, 3);
    webp.writeUIntLE(49, 27, 3);
    const wide = Buffer.from(GIF);
    wide.writeUInt16LE(9_000, 6);

    let assets: string;
    let warnings: string[];
    beforeAll(async () => {
      const files = {
        'images/icon.png': png(1, 1),
        'images/beside.png': png(2, 2),
        'public/logo.svg': SVG,
        'public/state/ü 1.gif': GIF,
        'public/photo.webp': webp,
        'public/page.html': Buffer.from('<script>alert(1)</script>'),
        'public/page.svg': Buffer.from('<html><script>alert(1)</script><svg></svg></html>'),
        'public/wide.gif': wide,
        'public/.hidden.png': png(3, 3),
        'public/node_modules/a/a.png': png(3, 3),
        'src/own.png': png(4, 4),
      };
      const { body } = await publish('shown', 'icon: images/icon.png', files, 'private');
      warnings = (body['warnings'] as { message: string }[]).map(({ message }) => message);
      const { urls } = (await annex.api('GET', '/v1/integrations/shown')).body as unknown as {
        urls: { assets: string; icon: string; publicEndpoint: string };
      };
      expect(urls.icon).toBe(`${urls.assets}/images/icon.png`);
      expect(urls.assets).toBe(`${urls.publicEndpoint}/~assets`);
      assets = urls.assets;
    });

    test.each([
      ['images/icon.png', 'image/png'],
      ['images/beside.png', 'image/png'],
      ['public/logo.svg', 'image/svg+xml'],
      [`public/state/${encodeURIComponent('ü 1.gif')}?fill=red`, 'image/gif'],
      ['public/photo.webp', 'image/webp'],
    ])('%s, without a token', async (path, type) => {
      const answer = await fetch(`${assets}/${path}`);
      expect([answer.status, Object.fromEntries(answer.headers)]).toMatchObject([
        200,
        {
          'content-type': type,
          'x-content-type-options': 'nosniff',
          // Nothing in an SVG runs, wherever it is opened.
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
          'cross-origin-resource-policy': 'cross-origin',
          'cache-control': 'public, max-age=300',
        },
      ]);
      const tag = answer.headers.get('etag') ?? '';
      expect((await fetch(`${assets}/${path}`, { headers: { 'if-none-match': tag } })).status).toBe(304);
      const head = await fetch(`${assets}/${path}`, { method: 'HEAD' });
      expect([head.status, head.headers.get('etag')]).toEqual([200, tag]);
    });

    test('unchanged', async () => {
      const answer = await fetch(`${assets}/public/logo.svg`);
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(SVG);
    });

    test('but for what is no image, which is left out with a warning', () => {
      expect(warnings).toEqual([
        expect.stringMatching(/^The image "public\/page.svg" is not a PNG image, so it is left out/),
        expect.stringMatching(/^The image "public\/wide.gif" has 9000 × 1 pixels/),
      ]);
    });

    // Attack: code, files of the upload that are not published, files of the machine.
    test.each([
      'index.js',
      'src/own.png',
      'public/page.html',
      'public/page.svg',
      'public/.hidden.png',
      'public/node_modules/a/a.png',
      'public',
      '',
      'public/',
      'public//logo.svg',
      'public/./logo.svg',
      'public/x/../logo.svg',
      '../index.js',
      '..%2findex.js',
      '%2e%2e/index.js',
      'public/%2e%2e%2f%2e%2e%2findex.js',
      'public%5c..%5cindex.js',
      '..\\index.js',
      'public/logo.svg%00.png',
      'public/%ff.png',
      'public/logo.svg/',
      '/etc/passwd',
      'c:/logo.png',
    ])('but not %s', async (path) => {
      const answer = await askPublic(annex, assets, { path: `${new URL(assets).pathname}/${path}` });
      expect([400, 404]).toContain(answer.status);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
    });

    test('not those of another integration, nor of a version that is not active', async () => {
      await publish('other', 'icon: a.png', { 'a.png': png(1, 1), 'public/b.png': png(2, 2) });
      expect((await fetch(`${assets}/public/b.png`)).status).toBe(404);
      await publish('shown', 'icon: images/icon.png', { 'images/icon.png': png(5, 5) }, 'private');
      expect((await fetch(`${assets}/public/photo.webp`)).status).toBe(404);
      const changed = Buffer.from(await (await fetch(`${assets}/images/icon.png`)).arrayBuffer());
      expect(changed).toEqual(png(5, 5));
    });

    test('where the code gets no request, which gets all others of this path', async () => {
      expect((await fetch(`${assets}/public/x.png`, { method: 'POST' })).status).toBe(200);
      const { endpoint } = await annex.install('shown', 'acme');
      expect((await fetch(`${endpoint}/~assets/public/x.png`)).status).toBe(200);
    });

    test('up to a number', async () => {
      const many = Object.fromEntries(
        Array.from({ length: 202 }, (_, at) => [`public/${at}.png`, png(1, 1)] as const),
      );
      const { body } = await publish('numerous', '', many);
      expect(body['warnings']).toEqual([
        expect.objectContaining({
          message: 'The image "public/200.png" is one of more than 200, so it is left out.',
        }),
      ]);
    });
  });

  test('prevent a publish if broken, and cause warnings in one that succeeds', async () => {
    const refused = await publish('broken', 'icon: a.png', { 'a.png': Buffer.from('no image') });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      422,
      expect.stringContaining('The file \\"a.png\\" is not a PNG image.'),
    ]);
    expect((await get('broken')).status).toBe(404);
    expect(await publish('warned', 'previewImages: [a.png]', { 'a.png': png(10, 10) })).toMatchObject({
      status: 201,
      body: { warnings: [{ line: 8, message: expect.stringContaining('10 × 10 pixels') }] },
    });
  });
});

describe('the service', () => {
  test('serves the schema of manifests without a token, for editors', async () => {
    const annex = await startTestService({
      flags: ['--internal-organizations', 'acme, Other, rival/of-rival'],
    });
    const answer = await fetch(`${annex.service.controlUrl}/v1/manifest.schema.json`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('application/schema+json'),
    ]);
    expect(await answer.json()).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      required: ['name', 'title', 'description', 'organization', 'scopes'],
    });

    // The operator can trust organizations with them, and single integrations of others.
    const form = (organization: string, name = `of-${organization.toLowerCase()}`) => {
      const data = new FormData();
      const manifest = manifestYaml({ name, organization });
      data.append('manifest', manifest.replace('scopes: []', 'scopes: [site:script:inject]'));
      data.append('script', 'export default { fetch: () => new Response() };');
      return data;
    };
    for (const [organization, status] of [
      ['acme', 201],
      ['Other', 201],
      ['rival', 201],
      ['other', 422],
    ] as const)
      expect((await annex.api('POST', '/v1/integrations', { form: form(organization) })).status).toBe(status);
    // Attack: another organization has the name of a trusted integration.
    for (const refused of [form('rival', 'second'), form('other', 'of-rival')])
      expect((await annex.api('POST', '/v1/integrations', { form: refused })).status).toBe(422);
    const { body } = await annex.api('POST', '/v1/integrations', { form: form('rival', 'second') });
    const { problems } = body['error'] as { problems: { hint: string }[] };
    expect(problems.map(({ hint }) => hint).join()).toContain(
      'add rival/second to the setting --internal-organizations (ANNEX_INTERNAL_ORGANIZATIONS), or rival for all',
    );
  });
});

test('an invalid organization in the setting is reported before the service starts', () => {
  for (const wrong of ['../x', 'acme/', 'acme/a/b', '/analytics', 'acme/-'])
    expect(() => readConfig(['--internal-organizations', `acme,${wrong}`], {})).toThrow(
      `--internal-organizations: "${wrong}" is neither an organization, as acme, nor an integration of one`,
    );
  expect(readConfig([], {}).internalOrganizations).toEqual([]);
  expect(readConfig([], { ANNEX_INTERNAL_ORGANIZATIONS: ' acme, Other' }).internalOrganizations).toEqual([
    'acme',
    'Other',
  ]);
});
