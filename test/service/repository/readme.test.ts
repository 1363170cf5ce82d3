/**
 * The README and the pages in `docs/`: each walk-through runs line by line in a shell, against the
 * service as `npm start` runs it, and must print what the page shows; each table must list exactly
 * what exists.
 */
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configHelp } from '../../../src/host/config.ts';
import { ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';
import { parseManifest } from '../../../src/model/manifest/manifest.ts';
import { OUTCOMES } from '../../../src/protocol/wire.ts';
import { needs } from '../../support/programs.ts';
import { DOCUMENTATION, DOCUMENTS, type Document, section } from '../../support/repository/documents.ts';
import { Shell } from '../../support/repository/shell.ts';
import { StartedService } from '../../support/started-service.ts';

/** A block of shell and its printed output; `…` matches anything. */
interface Step {
  readonly line: number;
  readonly script: string;
  readonly answer: string;
}

const fencesOf = ({ text }: Document) =>
  [...text.matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms)].map(({ index, 1: language, 2: body }) => ({
    index,
    language,
    body: body?.trim() ?? '',
  }));

/** The steps of a page, without those that need another machine: `npm ci …`, `docker …`. */
function stepsOf(document: Document): Step[] {
  const fences = fencesOf(document);
  return fences.flatMap(({ index, language, body }, at) => {
    if (language !== 'sh' || /^(npm|docker) /.test(body)) return [];
    const next = fences[at + 1];
    const isAnswer = next?.language === 'json' || next?.language === 'txt';
    const line = document.text.slice(0, index).split('\n').length;
    return [{ line, script: body, answer: isAnswer ? next.body : '' }];
  });
}

/**
 * @returns the expected output if the actual output matches it, `…` matching the rest of a line;
 * otherwise the actual output
 */
function matched(output: string, answer: string): string {
  const pattern = answer.split('…').map(RegExp.escape).join('.*?');
  return new RegExp(`^${pattern}$`).test(output) ? answer : output;
}

const walks = DOCUMENTS.filter((document) => stepsOf(document).length > 0);

describe.each(walks)('$path', needs('curl', 'grep'), (document) => {
  let service: StartedService;
  let shell: Shell;
  beforeAll(async () => {
    service = await StartedService.start();
    // The command line finds a service on the default port by itself.
    shell = new Shell(service.folder, { ANNEX_URL: service.control });
  });
  afterAll(async () => {
    shell.end();
    await service.stop();
  });

  test.each(stepsOf(document))('line $line prints what is below it', async (step) => {
    const answer = service.onFreePorts(step.answer);
    const run = async () => matched(await shell.run(service.onFreePorts(step.script)), answer);
    // The log of a call is readable a moment later, so it is read again; every other step runs
    // once.
    if (/\/(logs|events|deliveries)\?|^annex logs/.test(step.script)) await expect.poll(run).toBe(answer);
    else expect(await run()).toBe(answer);
  });
});

describe('the documentation', () => {
  let service: StartedService;
  beforeAll(async () => {
    // With the product's own API, whose metrics are absent without it.
    service = await StartedService.start({ ANNEX_PRODUCT_API: 'https://product.invalid' });
  });
  afterAll(() => service.stop());

  test('has no curl lines except those that run', () => {
    const others = DOCUMENTS.flatMap(fencesOf).filter(
      ({ language, body }) => language !== 'sh' && /^curl/m.test(body),
    );
    expect(others.map(({ body }) => body)).toEqual([]);
  });

  test('has manifests that can be published', () => {
    const manifests = DOCUMENTS.flatMap(fencesOf).filter(
      ({ language, body }) => language === 'yaml' && /^name:/m.test(body),
    );
    expect(manifests.length).toBeGreaterThan(0);
    for (const { body } of manifests) expect(parseManifest(body)).toMatchObject({ ok: true, warnings: [] });
  });

  test('lists exactly the routes of the API', async () => {
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

  test('lists exactly the metrics of calls and cells', async () => {
    const exposed = (await (await fetch(`${service.control}/metrics`)).text()).matchAll(
      /^# TYPE (annex_\w+)/gm,
    );
    const listed = DOCUMENTATION.matchAll(/^\| `(annex_\w+)` \|/gm);
    // Those of the supervisor are exposed where it runs several workers.
    const ofSupervisor = ['annex_workers', 'annex_worker_restarts_total'];
    const expected = [...[...exposed].map(([, name]) => name), ...ofSupervisor];
    expect([...listed].map(([, name]) => name).sort()).toEqual(expected.sort());
  });

  test('lists exactly the settings, with their flags and variables', () => {
    const settings = [...configHelp().matchAll(/^ +(--\S+) +(ANNEX_\S+)/gm)];
    const listed = [...DOCUMENTATION.matchAll(/^\| `(--[a-z-]+)` \| `(ANNEX_\w+)` \|/gm)];
    const pairs = (rows: RegExpExecArray[]) => rows.map(([, flag, variable]) => `${flag} ${variable}`);
    expect(pairs(listed)).toEqual(pairs(settings));
  });

  test('lists exactly the elements of ContentKit, with their attributes', () => {
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

  test('lists exactly the outcomes of calls', () => {
    const listed = [...section('## Outcomes').matchAll(/^\| `(\w+)` \|/gm)].map(([, outcome]) => outcome);
    expect(listed).toEqual([...OUTCOMES]);
  });
});
