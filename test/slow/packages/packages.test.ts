/**
 * The npm packages as a user has them: packed once, installed by plain npm in an empty folder, and
 * run on each version of Node that they promise.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildPackages } from '../../../packages/build.ts';
import { TEMPLATE_SUMMARIES, type Template, writeNew } from '../../../src/cli/commands/new.ts';
import { PostgresCluster } from '../../support/nodes/postgres-cluster.ts';
import { askedRegistry, nodeFolders, npm } from '../../support/packages/nodes.ts';
import { UserFolder } from '../../support/packages/user-folder.ts';
import { needs } from '../../support/programs.ts';

const SET_UP_MS = 600_000;
const SERVICE_MS = 120_000;
const MAJORS = ['20', '22', '26'];

const FILES: Readonly<Record<string, string>> = {
  'platform-manifest.yaml':
    'name: packed\ntitle: Packed\ndescription: For a test.\norganization: acme\nvisibility: private\nscopes: []\nscript: src/index.tsx\nsecrets:\n  KEY: ""\nblocks:\n  - id: count\n    title: Count\n    description: Counts.\n',
  'src/index.tsx': `import { createComponent, createIntegration, verifySignature } from '@annex/sdk';
const count = createComponent<{}, { count: number }>({
  componentId: 'count',
  initialState: { count: 0 },
  async render(element) {
    return <block><button label={\`Pressed \${element.state.count} times\`} onPress={{ action: 'press' }} /></block>;
  },
});
export default createIntegration({
  components: [count],
  async fetch(request, { environment }) {
    const { name } = await request.json<{ name: string }>();
    const isSigned = await verifySignature(null, name, environment.secrets.KEY || 'key');
    return Response.json({ hello: name, isSigned, from: environment.integration.name });
  },
});
`,
};

let base: string;
let archives: ReadonlyMap<string, string>;
let nodes: ReadonlyMap<string, string>;
let user: UserFolder;

const nodeFolder = (major: string): string => nodes.get(major) ?? '';

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'annex-packages-'));
  const [paths, folders] = await Promise.all([
    buildPackages(join(base, 'dist')),
    nodeFolders(MAJORS, join(base, 'nodes')),
  ]);
  archives = new Map(
    paths.map((path) => [/(annex(?:-[a-z]+)?)-\d/.exec(path.slice(base.length))?.[1] ?? '', path]),
  );
  nodes = folders;
  user = await UserFolder.install(join(base, 'user'), paths, folders.get('20'));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(user.path, 'packed', name)), { recursive: true });
    await writeFile(join(user.path, 'packed', name), text);
  }
}, SET_UP_MS);
afterAll(() => rm(base, { recursive: true, force: true }));

test('the packages are five, of the version of the repository', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect([...archives.keys()].sort()).toEqual([
    'annex',
    'annex-client',
    'annex-components',
    'annex-sdk',
    'annex-testing',
  ]);
  for (const name of ['annex', '@annex/sdk', '@annex/client', '@annex/components', '@annex/testing']) {
    const manifest = join(user.path, 'node_modules', name, 'package.json');
    expect(JSON.parse(await readFile(manifest, 'utf8'))).toMatchObject({ name, version });
  }
});

test('annex comes without sources, compiler and packages that only its build needs', async () => {
  const files = (await npm(['ls', '--all', '--parseable'], user.path)).split('\n');
  const installed = files.map((path) =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  expect(installed).toContain('isolated-vm');
  for (const name of ['typescript', 'readable-stream', 'whatwg-url', 'vitest'])
    expect(installed).not.toContain(name);
  expect(existsSync(join(user.path, 'node_modules/annex/dist/src/host/service.d.ts'))).toBe(true);
  expect(existsSync(join(user.path, 'node_modules/annex/dist/src/host/service.ts'))).toBe(false);
  expect(existsSync(join(user.path, 'node_modules/annex/dist/sandbox/entry.js'))).toBe(false);
});

describe.each(MAJORS)('on Node %s', (major) => {
  test(
    'a service starts, takes an integration, confines it, answers, and stops with 0',
    async () => {
      const service = await user.serve(`data-${major}`, nodeFolder(major), [
        join(user.path, 'node_modules/.bin/annex'),
      ]);
      const headers = { authorization: `Bearer ${service.adminToken}` };
      const form = new FormData();
      form.append('manifest', new Blob([FILES['platform-manifest.yaml'] ?? '']), 'platform-manifest.yaml');
      form.append('files', new Blob([FILES['src/index.tsx'] ?? '']), 'src/index.tsx');
      form.append('secrets', '{"KEY":"secret"}');
      const published = await fetch(`${service.control}/v1/integrations`, {
        method: 'POST',
        headers,
        body: form,
      });
      expect(await published.json()).toMatchObject({ integration: 'packed', version: 1 });
      const installed = await fetch(`${service.control}/v1/integrations/packed/installations`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"organization":"acme"}',
      });
      const { urls } = (await installed.json()) as { urls: { publicEndpoint: string } };
      const answer = await fetch(urls.publicEndpoint, { method: 'POST', body: '{"name":"Ada"}' });
      expect(await answer.json()).toEqual({ hello: 'Ada', isSigned: false, from: 'packed' });
      expect(await service.stop('SIGTERM')).toMatchObject({ code: 0 });
    },
    SERVICE_MS,
  );

  test('the SDK and the client are imported', async () => {
    const code = `
      const sdk = await import('@annex/sdk');
      const { jsx } = await import('@annex/sdk/jsx-runtime');
      const client = await import('@annex/client');
      const isValid = await sdk.verifySignature('t=1,v1=00', 'body', 'secret');
      console.log(JSON.stringify([isValid, jsx('text', { children: ['a', 1] }), Object.keys(client).length > 0]));`;
    const { stdout, stderr } = await user.run(['node', '--input-type=module', '-e', code], nodeFolder(major));
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([false, { type: 'text', children: ['a', '1'] }, true]);
  });
});

test(
  'npx annex serve stops in order with npx, whose shell passes no signal on',
  async () => {
    const service = await user.serve('data-npx', nodeFolder('22'));
    expect((await service.stop('SIGTERM')).last).toContain('"stopped"');
  },
  SERVICE_MS,
);

test('npx annex serve --workers 2 serves with two nodes on PostgreSQL, and stops in order', {
  ...needs('postgres'),
  timeout: SERVICE_MS,
}, async () => {
  const cluster = await PostgresCluster.start();
  onTestFinished(() => cluster.remove());
  const more = { flags: ['--workers', '2'], env: { ANNEX_DATABASE_URL: cluster.url() } };
  const service = await user.serve('data-workers', nodeFolder('22'), ['npx', 'annex'], more);
  const machine = async () => (await fetch(`${service.control}/metrics`)).text();
  await expect.poll(machine, { timeout: SERVICE_MS }).toMatch(/^annex_workers\S* 2$/m);
  expect((await service.stop('SIGTERM')).last).toContain('"stopped"');
});

describe('the bin', () => {
  const bin = () => join(user.path, 'node_modules/annex/bin/annex.js');

  test('keeps the exit code, and the words as they are', async () => {
    const ran = await user.run(['npx', 'annex', 'types', 'no such; folder'], nodeFolder('20'));
    expect(ran).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('There is no no such; folder/'),
    });
  });

  const title = 'says what is missing where the library that Node 26 links to is not there';
  test(title, needs('bwrap'), async () => {
    // This process has it loaded, so no tool of the system has to find it.
    const [library = ''] = /\/\S*\/libatomic\.so\.1\S*/.exec(await readFile('/proc/self/maps', 'utf8')) ?? [];
    // An empty file in the place of the library, for this process alone.
    const words = ['bwrap', '--dev-bind', '/', '/', '--ro-bind', '/dev/null', library, 'node', bin()];
    const { code, stderr } = await user.run(words, nodeFolder('20'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/annex: Node 26 needs the library libatomic\.so\.1.*apt-get install libatomic1/);
  });

  test('says what is missing where Node 26 was not installed', async () => {
    const folder = join(base, 'alone/node_modules/annex');
    await mkdir(folder, { recursive: true });
    // Node unpacks it: tar starts another program for that.
    const packed = gunzipSync(await readFile(archives.get('annex') ?? ''));
    execFileSync('tar', ['-xf', '-', '-C', folder, '--strip-components=1'], { input: packed });
    const { code, stderr } = await user.run(['node', join(folder, 'bin/annex.js')], nodeFolder('20'));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^annex: Annex runs on Node 26, this is v20\..*Install annex again, without `--omit=optional`\.$/m,
    );
  });
});

describe('without a registry that has the packages', () => {
  const isOurs = (path: string) => /^\/(annex|@annex\/)/.test(path);

  test(
    'a service offers them, of its own version',
    async () => {
      const service = await user.serve('data-offers', nodeFolder('22'));
      const listed = await (await fetch(`${service.control}/v1/packages`)).json();
      const { items } = listed as { items: { name: string; url: string }[] };
      expect(items.map(({ name }) => name)).toEqual([
        ...['annex', '@annex/sdk', '@annex/testing', '@annex/client', '@annex/components'],
      ]);
      const into = join(base, 'offered');
      const urls = items.filter(({ name }) => name !== '@annex/components').map(({ url }) => url);
      const registry = await askedRegistry(isOurs);
      const offered = await UserFolder.install(
        into,
        [`--registry=${registry.url}`, ...urls],
        nodeFolder('22'),
      );
      await registry.stop();
      expect(registry.asked.filter(isOurs)).toEqual([]);
      // What a service offers as `annex` works alone, and takes the others from where it came from.
      const { code, stderr } = await offered.run(['npx', '--no', 'annex', 'new', 'hello'], nodeFolder('22'));
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const { devDependencies } = JSON.parse(await readFile(join(into, 'hello/package.json'), 'utf8'));
      expect(devDependencies).toMatchObject({ annex: items[0]?.url, '@annex/sdk': items[1]?.url });
      await service.stop('SIGTERM');
    },
    SET_UP_MS,
  );

  // Attack: dependency confusion. Somebody publishes "annex" or "@annex/sdk" on the registry.
  test(
    'the path that `annex new` prints outside of a project is tested and checked, and npm asks for none of them',
    async () => {
      const registry = await askedRegistry(isOurs);
      onTestFinished(() => registry.stop());
      const newcomer = await UserFolder.install(join(base, 'newcomer'), [], nodeFolder('22'));
      const program = join(user.path, 'node_modules/.bin/annex');
      const { code, stderr } = await newcomer.run([program, 'new', 'hello'], nodeFolder('22'));
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: 'Next: cd hello && npm install && npm run dev\n',
      });
      const folder = join(newcomer.path, 'hello');
      await npm(['install', `--registry=${registry.url}`], folder, nodeFolder('22'));
      expect(registry.asked).toContain('/vitest');
      const tests = [
        join(folder, 'node_modules/.bin/vitest'),
        'run',
        '--root',
        folder,
        '--testTimeout=60000',
      ];
      const tested = await newcomer.run(tests, nodeFolder('22'));
      expect(tested, tested.stderr).toMatchObject({ code: 0 });
      expect(await npm(['run', 'check'], folder, nodeFolder('22'))).toContain('hello can be published');
      const alone = [archives.get('annex-testing') ?? '', `--registry=${registry.url}`];
      await UserFolder.install(join(base, 'testing-alone'), alone, nodeFolder('22'));
      expect(registry.asked.filter(isOurs)).toEqual([]);
    },
    SET_UP_MS,
  );
});

/** Writes all templates. Their code is one program; their tests need a test runner. */
async function writeTemplates(folder: string): Promise<readonly string[]> {
  const templates = Object.keys(TEMPLATE_SUMMARIES) as Template[];
  for (const template of templates)
    await writeNew({
      ...{ template, folder: join(folder, template), name: template },
      ...{ organization: 'acme', sdk: '*', testing: '*', annex: '*' },
    });
  const settings = { extends: '@annex/sdk/tsconfig.json', include: ['*/src'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  return templates;
}

describe('@annex/sdk alone', () => {
  test.each(['typescript@5.9.3', 'typescript@7.0.2'])(
    'is all that %s needs, declarations included',
    async (compiler) => {
      const author = await UserFolder.install(
        join(base, compiler),
        [archives.get('annex-sdk') ?? '', compiler],
        nodeFolder('20'),
      );
      for (const [name, text] of Object.entries(FILES)) {
        await mkdir(dirname(join(author.path, name)), { recursive: true });
        await writeFile(join(author.path, name), text);
      }
      await writeFile(join(author.path, 'tsconfig.json'), '{"extends":"@annex/sdk/tsconfig.json"}');
      const compile = (...flags: string[]) =>
        author.run(['npx', 'tsc', '--skipLibCheck', 'false', ...flags], nodeFolder('20'));
      const templates = await writeTemplates(join(author.path, 'templates'));
      const compiled = await compile('-p', 'templates', '--strict', '--listFiles');
      expect(compiled).toMatchObject({ code: 0, stderr: '' });
      for (const template of templates)
        expect(compiled.stdout).toMatch(new RegExp(`/templates/${template}/src/index\\.tsx?$`, 'm'));
      await rm(join(author.path, 'templates'), { recursive: true });

      expect(await compile()).toEqual({ code: 0, stdout: '', stderr: '' });

      await writeFile(join(author.path, 'wrong.ts'), 'export const title: string = document.title;\n');
      expect(await compile()).toMatchObject({
        stdout: expect.stringMatching(/^wrong\.ts\(1,30\): error TS2584/),
      });
      await rm(join(author.path, 'wrong.ts'));

      // The types of the manifest are the only generated file, and narrow those of the SDK.
      const { code } = await user.run(['npx', 'annex', 'types', author.path], nodeFolder('20'));
      expect(code).toBe(0);
      expect(existsSync(join(author.path, 'annex-sdk.d.ts'))).toBe(false);
      await writeFile(
        join(author.path, 'src/secret.ts'),
        `import type { Environment } from '@annex/sdk';\nexport const key = (e: Environment) => e.secrets.NOPE;\n`,
      );
      expect(await compile()).toMatchObject({
        stdout: expect.stringMatching(/^src\/secret\.ts\(2,\d+\): error TS2339/),
      });
    },
    600_000,
  );
});
