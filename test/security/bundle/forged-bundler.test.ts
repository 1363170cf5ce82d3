/**
 * The process of an upload, taken over: the host accepts no more of it than its bounds allow, and
 * stores nothing that an honest process could not have sent.
 */
import { describe, expect, test } from 'vitest';
import { parseBundle, SOURCE_MAP_BYTES_MAX } from '../../../src/host/bundle/bundle-result.ts';
import { UploadJob } from '../../../src/host/bundle/bundler.ts';
import { openParcel, packParcel } from '../../../src/host/bundle/bundler-message.ts';
import { parseReading } from '../../../src/host/bundle/reading/reading.ts';
import { Launcher } from '../../../src/host/confinement/launch.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { INTERNAL_SCOPES } from '../../../src/model/manifest/scope.ts';
import { formOf, uploaded } from '../../support/bundle/uploaded.ts';
import { png } from '../../support/png.ts';

const limits = { ...DEFAULT_LIMITS, bundleMs: 10_000 };

describe('a process that has been taken over', () => {
  /** Runs code in place of the process; `send` sends one message, `pipe` is the pipe. */
  const forged = (code: string) =>
    new Launcher({
      path: process.execPath,
      args: [
        '--eval',
        `const pipe = new (require('node:net').Socket)({ fd: 3 });
         const frame = (head, body) => {
           const start = Buffer.alloc(8);
           start.writeUInt32LE(Buffer.byteLength(head), 0);
           start.writeUInt32LE(body.length, 4);
           pipe.write(Buffer.concat([start, Buffer.from(head), body]));
         };
         const send = (name, value) => {
           const json = Buffer.from(JSON.stringify(value));
           frame(JSON.stringify({ name, sizes: [json.length] }), json);
         };
         const refused = (message) => ({ t: 'refused', problems: [{ severity: 'error', message }], more: 0 });
         pipe.on('end', () => process.exit());
         ${code}`,
      ],
      files: [],
    });

  const read = async (code: string, bundleMs = limits.bundleMs, wallMsMin = 60_000) => {
    const given = { limits: { ...limits, bundleMs }, wallMsMin };
    const job = await UploadJob.begin({ ...given, launcher: forged(code) });
    return job.read(formOf(uploaded({ 'index.js': '' }), { manifest: '' })).finally(() => job.end());
  };

  test('is accepted as long as it keeps to the protocol', async () => {
    const reading = await read(`send('ready', {}); pipe.once('data', () => send('read', refused('no')));`);
    expect(reading).toEqual({ ok: false, problems: [{ severity: 'error', message: 'no' }] });
  });

  test.each([
    ['a head that is not JSON', `frame('{', Buffer.alloc(0));`],
    ['a head without end', `pipe.write(Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]));`],
    ['a body without end', `pipe.write(Buffer.from([2, 0, 0, 0, 255, 255, 255, 255]));`],
    ['sizes that are not those of the body', `frame('{"name":"read","sizes":[9]}', Buffer.from('{}'));`],
    ['a negative size', `frame('{"name":"read","sizes":[4,-2]}', Buffer.from('{}'));`],
    ['invalid JSON', `frame('{"name":"read","sizes":[2]}', Buffer.from('{{'));`],
    ['an answer to another request', `send('bundled', { ok: false, problems: [] });`],
    ['that it is ready, twice', `send('ready', {});`],
    ['a message of an unknown name', `send('constructor', {});`],
    ['an invalid reading', `send('read', { t: 'read', problems: 'none' });`],
    ['an empty list of problems', `send('read', { t: 'refused', problems: [], more: 0 });`],
  ])('that sends %s is ended, and its upload refused as a fault of the platform', async (_what, code) => {
    const reading = read(`send('ready', {}); pipe.once('data', () => { ${code} });`);
    await expect(reading).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });

  test('that answers before it is asked is ended', async () => {
    const reading = read(
      `send('ready', {}); send('read', refused('early')); send('read', refused('twice'));`,
    );
    await reading.catch((cause) => expect(cause).toMatchObject({ code: 'INTERNAL_ERROR' }));
    const job = await UploadJob.begin({
      limits,
      launcher: forged(
        `send('ready', {}); pipe.once('data', () => { send('read', refused('a')); send('read', refused('b')); });`,
      ),
    });
    const form = formOf(uploaded({ 'index.js': '' }), { manifest: '' });
    await job.read(form).catch(() => undefined);
    await expect(job.bundle('index.js')).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
    job.end();
  });

  test('that waits is ended at the deadline, and one that spins at the bound on its CPU', async () => {
    const waits = read(`send('ready', {}); setInterval(() => {}, 1000);`, 250, 0);
    await expect(waits).rejects.toMatchObject({ code: 'PUBLISH_BUSY' });
    const reading = await read(`send('ready', {}); setImmediate(() => { for (;;); });`, 1_500);
    expect(reading).toMatchObject({ ok: false, problems: [{ limit: { name: 'bundleMs', max: 1_500 } }] });
  });

  test('that dies during its upload is a problem of that upload, and before it is ready a fault of the platform', async () => {
    const died = await read(
      `send('ready', {}); pipe.once('data', () => process.kill(process.pid, 'SIGABRT'));`,
    );
    expect(died).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringContaining('ran out of memory') }],
    });
    await expect(read('process.exit(3);')).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });
});

describe('its reading of an upload', () => {
  const manifest = {
    name: 'hello',
    title: 'T',
    description: 'D',
    organization: 'acme',
    visibility: 'public',
    scopes: [],
    script: 'index.js',
    icon: 'icon.png',
    secrets: { KEY: 'x' },
  };
  const icon = png(4, 4);
  const honest = {
    t: 'read',
    problems: [],
    more: 0,
    entry: 'index.js',
    manifest,
    manifestFile: 'platform-manifest.yaml',
    places: [
      [6, 1],
      [9, 3],
    ],
    secrets: [['KEY', 'x']],
    unsent: [],
    images: ['icon.png'],
  };
  const parse = (change: object, blobs: readonly Uint8Array[] = [icon]) => {
    const [head, ...body] = packParcel('read', { ...honest, ...change }, blobs);
    const parcel = openParcel(JSON.parse(JSON.stringify(head)), Buffer.concat(body), 4_000_000);
    if (parcel === undefined) throw new Error('The parcel is invalid.');
    return parseReading(parcel, { limits, rules: {} });
  };
  const error = { severity: 'error', message: 'm' };

  test('is accepted where it is valid', async () => {
    const reading = await parse({});
    expect(reading).toMatchObject({
      ok: true,
      entry: 'index.js',
      manifest: { name: 'hello', target: 'all' },
    });
    if (reading?.ok !== true) throw new Error('The reading was not accepted.');
    expect([...reading.secrets]).toEqual([['KEY', 'x']]);
    expect(reading.placeOf(['scopes'])).toMatchObject({ line: 6, column: 1 });
    expect(Buffer.from(reading.images[0]?.content ?? []).equals(icon)).toBe(true);
    expect(await parse({ problems: [error], secrets: [], images: [] }, [])).toMatchObject({ ok: true });
  });

  const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);
  test.each([
    ['a manifest that is a list', { manifest: [] }],
    ['a manifest with an error', { manifest: { ...manifest, name: 'NOT A NAME' } }],
    ['a scope that is reserved', { manifest: { ...manifest, scopes: [INTERNAL_SCOPES[0]] } }],
    ['a manifest of very many values', { manifest: { ...manifest, more: Array(10_001).fill(1) } }],
    ['a manifest that is nested', { manifest: { ...manifest, more: deep(40) } }],
    ['a manifest of very long texts', { manifest: { ...manifest, more: 'x'.repeat(300_000) } }],
    ['an entrypoint outside', { entry: '../index.js' }],
    ['an entrypoint that is no text', { entry: {} }],
    ['too few places', { places: [] }],
    ['invalid places', { places: [['1', 1]] }],
    ['a secret that is not declared', { secrets: [['OTHER', 'x']] }],
    ['a secret with the name of a member of every object', { secrets: [['constructor', 'x']] }],
    ['a secret that is too long', { secrets: [['KEY', 'x'.repeat(6_000)]] }],
    ['no value of a secret, and no problem', { secrets: [] }],
    ['a secret that is said to be unsent twice', { secrets: [], unsent: ['KEY', 'KEY'] }],
    ['an unsent secret that is not declared', { unsent: ['OTHER'] }],
    ['a manifest outside', { manifestFile: '../manifest.yaml' }],
    ['an environment that is not declared', { environment: 'live' }],
    ['an environment that is no text', { environment: {} }],
    ['an image that is not named', { images: ['other.png'] }],
    ['a negative count', { more: -1 }],
    ['a problem with a member of its own', { problems: [{ ...error, code: 1 }] }],
    ['a problem of a megabyte', { problems: [{ ...error, message: 'x'.repeat(1_000_000) }] }],
    ['a problem of an unknown limit', { problems: [{ ...error, limit: { name: 'toString', max: 1 } }] }],
    ['a thousand problems', { problems: Array(1_000).fill(error) }],
  ])('is not accepted with %s', async (_what, change) => {
    expect(await parse(change)).toBeUndefined();
  });

  test('is not accepted with images that are invalid or missing', async () => {
    expect(await parse({}, [Buffer.from('<svg onload="steal()">')])).toBeUndefined();
    expect(await parse({}, [Buffer.concat([icon, Buffer.from('PK')])])).toBeUndefined();
    expect(await parse({}, [])).toBeUndefined();
    expect(await parse({ images: [] }, [])).toBeUndefined();
    expect(await parse({ images: ['icon.png', 'icon.png'] }, [icon, icon])).toBeUndefined();
  });
});

describe('its result of a bundle', () => {
  const map = { version: 3, sources: ['a.ts'], names: [], mappings: 'AAAA' };
  const parse = (value: object, ...blobs: (string | Uint8Array)[]) =>
    parseBundle({ name: 'bundled', value, blobs: blobs.map((blob) => Buffer.from(blob)) }, 1_000);
  const fine = { ok: true, problems: [] };

  test('is accepted where it is valid, with those members of the map that are read later', () => {
    const strange = { ...map, sections: [{}], sourceRoot: '/etc', file: 'x' };
    expect(parse(fine, 'script', JSON.stringify(strange))).toEqual({
      ok: true,
      script: 'script',
      map: JSON.stringify(map),
      warnings: [],
    });
  });

  test.each([
    ['a script over the limit', fine, ['x'.repeat(1_001), JSON.stringify(map)]],
    ['a script that is no text', fine, [new Uint8Array([0xff]), JSON.stringify(map)]],
    ['a map over the bound', fine, ['x', ' '.repeat(SOURCE_MAP_BYTES_MAX + 1)]],
    ['an invalid map', fine, ['x', '{"sources":[1]}']],
    ['no map', fine, ['x']],
    ['an `ok` that is no boolean', { ok: 1, problems: [] }, ['x', JSON.stringify(map)]],
    ['no reason', { ok: false, problems: [] }, []],
  ])('is not accepted with %s', (_what, value, blobs) => {
    expect(parse(value, ...(blobs as string[]))).toBeUndefined();
  });
});

describe('the values of a message', () => {
  const MOST = 60_000;
  const open = (json: string, bytesMax = 4_000_000) =>
    openParcel({ name: 'read', sizes: [Buffer.byteLength(json)] }, Buffer.from(json), bytesMax)?.value;

  // Attack: parsing four megabytes of brackets is one native call, which holds the event loop for
  // most of a second.
  test.each([
    ['nested arrays', '['.repeat(MOST) + ']'.repeat(MOST)],
    ['nested objects', `${'{"a":'.repeat(MOST)}1${'}'.repeat(MOST)}`],
    ['flat numbers', `[${'1,'.repeat(MOST)}1]`],
    ['empty objects behind a text that ends in a backslash', `["\\\\"${',{}'.repeat(MOST)}]`],
  ])('are counted before they are parsed: %s', (_what, json) => {
    expect(open(json)).toBeUndefined();
  });

  test('inside a text do not count', () => {
    const texts = ['[,{'.repeat(100_000), '\\', '"', '\\"[,'.repeat(30_000), 'é[,{'.repeat(30_000)];
    expect(open(JSON.stringify(texts))).toEqual(texts);
    const full = Array.from({ length: MOST - 2 }, () => 1);
    expect(open(JSON.stringify(full))).toEqual(full);
  });
});
