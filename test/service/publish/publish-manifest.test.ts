/**
 * The manifest at publish: where it is found, what it is checked against, and how old versions are
 * read.
 */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readForm } from '../../../src/host/bundle/reading/read-form.ts';
import { inspectExports } from '../../../src/host/publish/probe-check.ts';
import { receiveUpload } from '../../../src/host/publish/receive-upload.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { storedManifest } from '../../../src/model/manifest/stored-manifest.ts';
import { png } from '../../support/png.ts';
import { startTestService, TestService } from '../../support/service.ts';
import {
  manifestYaml,
  OPERATOR,
  parsed,
  published,
  temporaryStore,
} from '../../support/store/temporary-store.ts';

describe('an upload without a manifest', () => {
  const problemOf = async (...paths: string[]) => {
    const form = new FormData();
    for (const path of [...paths, 'index.js']) form.append('files', new Blob(['x']), path);
    const body = new Response(form);
    const type = body.headers.get('content-type') ?? '';
    const received = await receiveUpload(
      Readable.from([Buffer.from(await body.arrayBuffer())]),
      type,
      DEFAULT_LIMITS,
    );
    const reading = await readForm(received, DEFAULT_LIMITS);
    if (reading.ok) throw new Error('The upload has a manifest.');
    expect(reading.problems).toHaveLength(1);
    return reading.problems[0];
  };

  test('gets a problem that says where the manifest is expected', async () => {
    expect(await problemOf()).toMatchObject({
      message: 'The upload has no manifest.',
      hint: 'Send it as the part "manifest", or as the file platform-manifest.yaml.',
    });
  });

  test.each([
    ...[
      'platform-manifest.yml',
      'Platform-Manifest.yaml',
      'platform_manifest.yaml',
      'platform-manifest.json',
    ],
    ...['platform-manifst.yaml', 'platformmanifest.yaml', 'src/platform-manifest.yml'],
  ])('gets a problem that names the file %s, which is not read as a manifest', async (path) => {
    expect(await problemOf(path)).toMatchObject({
      file: path,
      message: `The upload has no manifest: the file "${path}" is not read as one.`,
      hint: 'Name it platform-manifest.yaml, in lower case, at the root of the upload.',
    });
  });
});

describe('a probed script', () => {
  const inspect = (found: { components?: string[]; events?: string[] }, more = '') =>
    inspectExports(
      { fetch: true, sdk: true, components: [], events: [], ...found },
      'src/index.ts',
      parsed(manifestYaml({}, more)),
    );

  test.each(['account', 'site', 'space'])('must have the component of the %s configuration', (level) => {
    const more = `configurations:\n  ${level}:\n    componentId: settings`;
    expect(inspect({ components: ['settings'] }, more)).toEqual([]);
    expect(inspect({ components: ['setting'] }, more)).toMatchObject([
      {
        severity: 'error',
        file: 'platform-manifest.yaml',
        line: 9,
        column: 18,
        message: `The ${level} configuration "settings" has no component. The script declares "setting".`,
        hint: 'Did you mean "setting"?',
      },
    ]);
  });

  test('has a warning for each handler of an event that never comes', () => {
    const events = ['instalation_setup', 'fetch', 'made_up', 'ui_render', 'site_installation_setup'];
    expect(inspect({ events })).toMatchObject([
      { severity: 'warning', file: 'src/index.ts', hint: 'Did you mean "installation_setup"?' },
      { severity: 'warning', hint: expect.stringContaining('"fetch" of the integration itself') },
      { severity: 'warning', message: expect.stringContaining('"made_up" is not a known event') },
    ]);
  });
});

describe('publishing', () => {
  let annex: TestService;
  beforeAll(async () => {
    annex = await TestService.start();
  });
  afterAll(() => annex.stop());

  const publish = async (manifest: string, files: Record<string, string>) => {
    const form = new FormData();
    form.append('manifest', manifest);
    for (const [path, text] of Object.entries(files)) form.append('files', new Blob([text]), path);
    const { body } = await annex.api('POST', '/v1/integrations', { form });
    type ProblemView = { file?: string; line?: number; message: string; hint?: string };
    const { error, warnings } = body as { error?: { problems: ProblemView[] }; warnings?: ProblemView[] };
    return error?.problems ?? warnings ?? [];
  };
  const code = (text: string) => ({ 'src/index.ts': text });
  const FINE = code('export default { fetch: () => new Response() };');

  test('reports text that is not YAML, and no further problem of the unreadable part', async () => {
    expect(await publish('name: a: b', FINE)).toMatchObject([{ file: 'platform-manifest.yaml', line: 1 }]);
    expect(await publish(manifestYaml({}, 'script: 7'), FINE)).toMatchObject([
      { line: 7, message: '"script" must be text, not a number.' },
    ]);
  });

  test('stores numbers in the place of text as they are written', async () => {
    const configurations = `configurations:
  account:
    properties:
      python: {type: string, enum: [3.9, 3.10, 0047], default: 3.10}`;
    const manifest = manifestYaml({ name: 'numbers' }, `script: src/index.ts\n${configurations}`);
    const warnings = await publish(manifest, FINE);
    expect(warnings.map(({ message }) => message)).toContain(
      '"configurations.account.properties.python.enum[2]" is read as the text "0047".',
    );
    expect(await annex.api('GET', '/v1/integrations/numbers')).toMatchObject({
      body: {
        configurations: {
          account: { properties: { python: { enum: ['3.9', '3.10', '0047'], default: '3.10' } } },
        },
      },
    });
  });

  test('takes the stored or the sent value of a secret with an expression of another tool', async () => {
    const form = (secrets: object) => {
      const parts = new FormData();
      const text = `script: src/index.ts\nsecrets: {KEY: "\${{ secrets.KEY }}"}`;
      parts.append('files', new Blob([manifestYaml({ name: 'piped' }, text)]), 'acme-manifest.yaml');
      // The manifest of another tool, which is passed over.
      parts.append('files', new Blob(['apiVersion: v1\nkind: Pod\n']), 'k8s-manifest.yaml');
      const code = 'export default { fetch: (_, env) => Response.json(env) };';
      parts.append('files', new Blob([code]), 'src/index.ts');
      parts.append('secrets', JSON.stringify(secrets));
      return parts;
    };
    const send = (secrets: object) => annex.api('POST', '/v1/integrations', { form: form(secrets) });
    expect(await send({})).toMatchObject({
      status: 422,
      body: {
        error: {
          problems: [
            { severity: 'warning', file: 'acme-manifest.yaml', line: 8 },
            { severity: 'error', message: 'The secret "KEY" has no value, and its expression names none.' },
          ],
        },
      },
    });
    const warned = { status: 201, body: { warnings: [{ file: 'acme-manifest.yaml', line: 8 }] } };
    expect(await send({ KEY: 'sent' })).toMatchObject(warned);
    expect(await send({})).toMatchObject(warned);
    const { endpoint } = await annex.install('piped');
    expect(await (await fetch(endpoint)).json()).toEqual({ KEY: 'sent' });
  });

  test('suggests the uploaded file that a missing entrypoint probably means', async () => {
    expect(await publish(manifestYaml({}, 'script: src/indx.ts'), FINE)).toMatchObject([
      {
        file: 'platform-manifest.yaml',
        line: 7,
        message: 'The entrypoint "src/indx.ts" is not among the uploaded files.',
        hint: 'Did you mean "src/index.ts"?',
      },
    ]);
  });

  test('names the file of the entrypoint if a problem is of the code as a whole', async () => {
    const manifest = manifestYaml({}, 'script: ./src/index.ts');
    expect(await publish(manifest, code('export default {};'))).toMatchObject([{ file: 'src/index.ts' }]);
    expect(await publish(manifest, code('for (;;);'))).toMatchObject([{ file: 'src/index.ts' }]);
    const sdk = `
      import { createIntegration } from '@annex/sdk';
      export default createIntegration({ fetch: () => new Response(), events: { space_veiw() {} } });`;
    expect(await publish(manifest, code(sdk))).toMatchObject([
      { file: 'src/index.ts', hint: 'Did you mean "space_view"?' },
    ]);
  });

  test('keeps every member of the manifest', async () => {
    const more = `
target: site
summary: "# Hello"
categories: [visitor-auth, other]
externalLinks: [{label: Docs, url: "https://example.com/docs"}]
contentSecurityPolicy: {default-src: "'self'"}
configurations:
  site:
    properties:
      color: {type: string, enum: [red, blue], default: red, completion_url: /colors}
    required: [color]`;
    const before = published({ name: 'whole' }, more);
    expect(before).toMatchObject({
      target: 'site',
      categories: ['authenticated-access', 'other'],
      contentSecurityPolicy: { 'default-src': "'self'" },
    });
    const { registry } = await temporaryStore();
    await registry.publish({ manifest: before, script: '', sourceMap: '{}', secrets: new Map() }, OPERATOR);
    expect((await registry.version('whole', 1))?.manifest).toEqual(before);
  });
});

describe('a manifest that was stored in the oldest format', () => {
  const first = {
    name: 'old',
    title: 'Old',
    description: 'An example.',
    organization: 'acme',
    visibility: 'public',
    scopes: ['space:content:read', 'made:up'],
    script: 'index.js',
    blocks: [{ id: 'a', title: 'A', icon: '../x', note: { any: 'thing' } }],
    categories: ['other', 'unheard-of'],
    configurations: {
      account: {
        properties: {
          greeting: { type: 'string', title: 'Greeting', default: 'Hello', enum: 5, color: 'red' },
          connect: { type: 'button' },
        },
        required: ['greeting'],
      },
    },
    secrets: ['TOKEN'],
    carried: {
      icon: '../../etc/passwd',
      previewImages: ['a.png'],
      target: 'space',
      externalLinks: [
        { label: 'Docs', url: 'https://example.com' },
        { label: 'Bad', url: 'javascript:alert(1)' },
      ],
    },
  };

  test('is read as the present reader reads it, without members that were never checked', () => {
    const read = storedManifest(JSON.stringify(first));
    expect(read).toMatchObject({
      name: 'old',
      target: 'space',
      scopes: ['space:content:read'],
      categories: ['other'],
      blocks: [{ id: 'a', title: 'A' }],
      previewImages: [],
      externalLinks: [{ label: 'Docs', url: 'https://example.com' }],
      secrets: ['TOKEN'],
    });
    expect(read.configurations.account?.properties['greeting']).toEqual({
      type: 'string',
      title: 'Greeting',
      default: 'Hello',
    });
    expect(read).not.toHaveProperty('icon');
    expect(JSON.stringify(read)).not.toMatch(/passwd|javascript:|note|color/);
  });

  test('is read without members that it does not have', () => {
    const { blocks, configurations, carried, ...rest } = first;
    expect(storedManifest(JSON.stringify({ ...rest, carried: {} }))).toMatchObject({
      target: 'all',
      blocks: [],
      externalLinks: [],
      configurations: {},
    });
  });
});

describe('a manifest in a folder of the upload', () => {
  test('has its entrypoint and its images beside it, in the environment that is asked for', async () => {
    const annex = await startTestService();
    const form = new FormData();
    const part = (path: string, content: string | Uint8Array<ArrayBuffer>) =>
      form.append('files', new Blob([content]), path);
    const envs = `envs:\n  test: {title: Tested, secrets: {KEY: "\${{ env.KEY }}"}}`;
    const manifest = manifestYaml({ name: 'Boards' }, `script: ./src/index.ts\nicon: icon.png\n${envs}`);
    part('apps/boards/acme-manifest.yaml', manifest);
    part('apps/boards/icon.png', png(8, 8));
    part('apps/boards/src/index.ts', 'export { default } from "../../../shared";');
    part('shared/index.ts', 'export default { fetch: (_: Request, env: object) => Response.json(env) };');
    form.append('env', 'test');
    form.append('secrets', '{"KEY": "opened"}');
    const published = await annex.api('POST', '/v1/integrations', { form });
    expect(published).toMatchObject({
      status: 201,
      body: { warnings: [{ file: 'apps/boards/acme-manifest.yaml', line: 1 }] },
    });
    expect(await annex.api('GET', '/v1/integrations/Boards')).toMatchObject({ body: { title: 'Tested' } });

    // Published again without the secret, whose value is stored.
    form.delete('secrets');
    expect(await annex.api('POST', '/v1/integrations', { form })).toMatchObject({ status: 201 });
    const { endpoint } = await annex.install('Boards');
    expect(await (await fetch(endpoint)).json()).toEqual({ KEY: 'opened' });
  });
});

describe('settings that no schema declares', () => {
  test('are kept, reach the code, and leave the target active', async () => {
    const annex = await startTestService();
    const source = `export default { async fetch(request) {
      const { installation } = JSON.parse((await request.formData()).get('environment'));
      return Response.json(installation.configuration);
    } };`;
    const declared = 'configurations: {account: {properties: {a: {type: string}}}}';
    await annex.publish('stateful', { 'index.js': source }, declared);
    const { id, endpoint } = await annex.install('stateful');
    const path = `/v1/integrations/stateful/installations/${id}`;
    const configuration = { a: 'x', state: { page: [1, null] } };
    expect(await annex.api('PATCH', path, { json: { configuration } })).toMatchObject({
      status: 200,
      body: { status: 'active', configuration },
    });
    expect(await (await fetch(endpoint)).json()).toEqual(configuration);
    const large = { state: 'x'.repeat(64 * 1024) };
    expect((await annex.api('PATCH', path, { json: { configuration: large } })).status).toBe(413);
  });
});
