/**
 * What helps an author on: the reason of a component that throws, which the service keeps from
 * callers, and a new folder that takes the SDK from where the project above has it.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VERSION } from '../../../src/version.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { folderWith, manifestOf, suiteFolder, write } from '../../support/cli/author-folder.ts';
import { ROOT } from '../../support/repository/sources.ts';
import { TestService } from '../../support/service.ts';

const CODE = `import { createComponent, createIntegration } from '@annex/sdk';

const board = createComponent({
  componentId: 'board',
  async render() {
    throw new Error('the list is empty');
  },
});

export default createIntegration({ components: [board] });
`;

describe('annex render of a component that throws', () => {
  let service: TestService;
  let env: Record<string, string>;
  let cwd: string;
  beforeAll(async () => {
    service = await TestService.start();
    env = { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin };
    cwd = await mkdtemp(join(tmpdir(), 'annex-throws-'));
    const manifest = manifestOf('throws', 'src/index.tsx');
    await write(cwd, { 'platform-manifest.yaml': manifest, 'src/index.tsx': CODE });
    expect((await annex({ words: ['publish', '--install', 'acme'], cwd, env })).code).toBe(0);
  });
  afterAll(async () => {
    await service.stop();
    await rm(cwd, { recursive: true });
  });

  test('shows the reason from the log, with its place in the TypeScript', async () => {
    const { code, stdout, stderr } = await annex({ words: ['render', 'board', 'throws'], env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/error +Error: the list is empty\n +at .*src\/index\.tsx:6:11/);
    expect(stderr).toMatch(
      /error: The component "board" failed; the log of the installation has the reason\.\n$/,
    );
  });

  test('shows no reason to a token that may not read the log', async () => {
    const { body } = await service.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'another' },
    });
    const stranger = { ...env, ANNEX_TOKEN: String(body['token']) };
    const { code, stderr } = await annex({ words: ['render', 'board', 'throws'], env: stranger });
    expect(code).toBe(1);
    expect(stderr).not.toContain('the list is empty');
  });
});

describe('an installation in a site', () => {
  const MORE = `configurations:
  site:
    properties:
      team: { type: string, title: Team }
    required: [team]
`;
  let service: TestService;
  let run: (...words: string[]) => ReturnType<typeof annex>;
  beforeAll(async () => {
    service = await TestService.start();
    const env = { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin };
    const folder = await suiteFolder({
      'platform-manifest.yaml': manifestOf('teams', 'index.js', MORE).replace('[]', '[site:views:read]'),
      'index.js': `import { createIntegration } from '@annex/sdk';
export default createIntegration({ events: { site_view: () => {} } });`,
    });
    run = (...words) => annex({ words, env, cwd: folder });
    await run('publish', '--install', 'acme');
    return async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    };
  });

  test('says with which words its missing settings are set', async () => {
    const { stderr } = await run('install', 'teams', '--organization', 'acme', '--site', 'docs');
    expect(stderr).toMatch(/^team: "team" must be set\.$/m);
    expect(stderr).toContain('annex configure teams@acme --site docs');
    const { stderr: elsewhere } = await run('configure', 'teams', 'team=blue');
    expect(elsewhere).toContain('are set with --space or --site');
  });

  test('says what is wrong with an edit that would make it invalid', async () => {
    expect((await run('configure', 'teams', '--site', 'docs', 'team=blue')).code).toBe(0);
    const { code, stderr } = await run('configure', 'teams', '--site', 'docs', '--unset', 'team');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^team: "team" must be set\.$/m);
  });

  test('gets a sample event without a word about its site', async () => {
    const { code, stdout } = await run('trigger', 'site_view', 'teams', '--wait', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ event: { siteId: 'docs' }, deliveries: 1 });
  });
});

test.each([
  ['../dist/annex-sdk.tgz', 'file:'],
  ['1.2.3', ''],
])(
  'a new folder has the packages of the project above, where that is an archive: %s',
  async (place, kind) => {
    const above = await folderWith({});
    await mkdir(join(above, 'project'));
    const spec = `${kind}${place}`;
    const own = JSON.stringify({
      devDependencies: { '@annex/sdk': spec, '@annex/testing': spec, annex: spec },
    });
    await writeFile(join(above, 'project/package.json'), own);
    const cwd = join(above, 'project');
    expect((await annex({ words: ['new', 'hello', 'board'], cwd })).code).toBe(0);
    const made = JSON.parse(await readFile(join(cwd, 'board/package.json'), 'utf8'));
    for (const name of ['@annex/sdk', '@annex/testing', 'annex']) {
      // Never a version: somebody else could publish the name to a registry.
      const built = join(ROOT, `dist/${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`);
      expect(made.devDependencies[name]).toBe(
        kind === '' ? `file:${built}` : `file:${join(above, 'dist/annex-sdk.tgz')}`,
      );
    }
  },
);
