/**
 * The README and the pages in `docs/`, taken at their word: each walk-through runs line by line in a shell, against the
 * service as `npm start` runs it, and answers what is printed below each line; tables list what there is, and nothing else.
 */
import { spawnSync } from 'node:child_process';
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configHelp } from '../../../src/config.ts';
import { ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';
import { parseManifest } from '../../../src/model/manifest/manifest.ts';
import { OUTCOMES } from '../../../src/protocol/wire.ts';
import { DOCUMENTATION, DOCUMENTS, type Document, section } from '../../support/repository/documents.ts';
import { Shell } from '../../support/repository/shell.ts';
import { StartedService } from '../../support/started-service.ts';

const TOOLS = ['bash', 'curl', 'grep', 'tar'];

/** A block of shell and what the page says it prints; `…` stands for anything. */
interface Step {
  readonly line: number;
  readonly script: string;
  readonly answer: string;
}

const fencesOf = ({ text }: Document) =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language, 2: body }) => ({
    index,
    language,
    body: body?.trim() ?? '',
  }));

/** The steps of a page. What needs a fresh machine, or another one, is not among them: `npm ci …`, `docker …`. */
function stepsOf(document: Document): Step[] {
  const fences = fencesOf(document);
  return fences.flatMap(({ index, language, body }, at) => {
    if (language !== 'sh' || /^(npm|docker) /.test(body)) return [];
    const next = fences[at + 1];
    const line = document.text.slice(0, index).split('\n').length;
    return [{ line, script: body, answer: next?.language === 'json' ? next.body : '' }];
  });
}

/** @returns the answer itself where the output fits it, `…` standing for anything on its line; otherwise the output */
function told(output: string, answer: string): string {
  const pattern = answer.split('…').map(RegExp.escape).join('.*?');
  return new RegExp(`^${pattern}$`).test(output) ? answer : output;
}

const missingTools = TOOLS.filter((tool) => spawnSync(tool, ['--version']).error !== undefined);
const walks = DOCUMENTS.filter((document) => stepsOf(document).length > 0);

describe.skipIf(missingTools.length > 0).each(walks)(`$path (needs ${TOOLS.join(', ')})`, (document) => {
  let service: StartedService;
  let shell: Shell;
  beforeAll(async () => {
    service = await StartedService.start();
    shell = new Shell(service.folder);
  });
  afterAll(async () => {
    shell.end();
    await service.stop();
  });

  test.each(stepsOf(document))('line $line answers what is printed below it', async (step) => {
    const answer = service.onFreePorts(step.answer);
    const run = async () => told(await shell.run(service.onFreePorts(step.script)), answer);
    // What a call leaves behind can be read a moment later; every other step happens once.
    if (/\/(logs|events|deliveries)\?/.test(step.script)) await expect.poll(run).toBe(answer);
    else expect(await run()).toBe(answer);
  });
});

describe('the documentation', () => {
  let service: StartedService;
  beforeAll(async () => {
    service = await StartedService.start();
  });
  afterAll(() => service.stop());

  test('prints curl lines that are run, and no others', () => {
    const others = DOCUMENTS.flatMap(fencesOf).filter(
      ({ language, body }) => language !== 'sh' && /^curl/m.test(body),
    );
    expect(others.map(({ body }) => body)).toEqual([]);
  });

  test('shows manifests that can be published', () => {
    const manifests = DOCUMENTS.flatMap(fencesOf).filter(
      ({ language, body }) => language === 'yaml' && /^name:/m.test(body),
    );
    expect(manifests.length).toBeGreaterThan(0);
    for (const { body } of manifests) expect(parseManifest(body)).toMatchObject({ ok: true, warnings: [] });
  });

  test('lists every route of the API, and no other', async () => {
    const { paths } = (await (await fetch(`${service.control}/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const installation = '/v1/integrations/{name}/installations/{id}';
    const targets = [installation, `${installation}/spaces/{space}`, `${installation}/sites/{site}`];
    const listed = [...DOCUMENTATION.matchAll(/^\| `([A-Z]+)` \| `((?:\/v1|\{target\})[^`]*)` \|/gm)].flatMap(
      ([, method, path = '']) =>
        path.startsWith('{target}')
          ? targets.map((target) => `${method} ${path.replace('{target}', target)}`)
          : [`${method} ${path}`],
    );
    expect(listed.sort()).toEqual(routes.sort());
  });

  test('lists every metric of calls and cells, and no other', async () => {
    const exposed = (await (await fetch(`${service.control}/metrics`)).text()).matchAll(
      /^# TYPE (annex_\w+)/gm,
    );
    const listed = DOCUMENTATION.matchAll(/^\| `(annex_\w+)` \|/gm);
    expect([...listed].map(([, name]) => name).sort()).toEqual([...exposed].map(([, name]) => name).sort());
  });

  test('lists every setting with its flag and its variable, and no other', () => {
    const settings = [...configHelp().matchAll(/^ +(--\S+) +(ANNEX_\S+)/gm)];
    const listed = [...DOCUMENTATION.matchAll(/^\| `(--[a-z-]+)` \| `(ANNEX_\w+)` \|/gm)];
    const pairs = (rows: RegExpExecArray[]) => rows.map(([, flag, variable]) => `${flag} ${variable}`);
    expect(pairs(listed)).toEqual(pairs(settings));
  });

  test('lists every element of ContentKit with its attributes, and no other', () => {
    const wanted = Object.entries(ELEMENTS).map(([name, { attributes }]) => {
      const marked = Object.entries(attributes).map(([key, schema]) =>
        Type.IsOptional(schema) ? `\`${key}\`` : `\`${key}\`\\*`,
      );
      return `${name}: ${marked.sort().join(' ')}`;
    });
    const rows = [...section('## ContentKit').matchAll(/^\| ((?:`\w+` ?)+)\| (.*?) ?\| [^|]*\|$/gm)];
    const listed = rows.flatMap(([, names = '', attributes = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name}: ${attributes.split(' ').sort().join(' ')}`),
    );
    expect(listed.sort()).toEqual(wanted.sort());
  });

  test('lists every outcome of a call, and no other', () => {
    const listed = [...section('## Outcomes').matchAll(/^\| `(\w+)` \|/gm)].map(([, outcome]) => outcome);
    expect(listed).toEqual([...OUTCOMES]);
  });
});
