/** Manifests made of wrangler files (docs/contract/plain-workers.md#wrangler-files). */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { importWorker } from '../../../src/cli/upload/wrangler-file.ts';
import { parseManifest } from '../../../src/model/manifest/manifest.ts';

const imported = (file: string, text: string, envNames: string[] = []) => {
  const { yaml, problems } = importWorker({
    file,
    text,
    folder: 'My Folder',
    organization: 'acme',
    envNames,
  });
  const { ok } = parseManifest(yaml);
  const found = problems.map(({ severity, line, message }) => `${line} ${severity}: ${message}`);
  return { ok, manifest: parse(yaml) as Record<string, unknown>, found };
};

const TOML = `name = "Chat_Bot"
main = "./src/index.ts"
compatibility_date = "2025-01-01"
workers_dev = true
kv_namespaces = [{ binding = "CACHE", id = "abc" }]

[vars]
GREETING = "hello"
LIMITS = { perMinute = 60 }

[triggers]
crons = ["*/5 * * * *", "0 9 * * 2-6", "0 9 LW * *"]

[assets]
directory = "./public/"
binding = "FILES"
not_found_handling = "single-page-application"
run_worker_first = ["/api/*"]

[[d1_databases]]
binding = "DB"
database_id = "x"

[env.staging.vars]
GREETING = "hi"
`;

const JSONC = `{
  // A worker.
  "$schema": "node_modules/wrangler/config-schema.json",
  "name": "api",
  "main": "worker.js",
  "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
  "migrations": [{ "tag": "v1", "new_classes": ["Room"] }],
  "routes": ["example.com/*"],
  "vars": { "N": -1, "on": true, },
  "odd_key": 1,
}`;

test('a TOML file becomes a manifest, and what has no counterpart is listed with its line', () => {
  expect(imported('wrangler.toml', TOML, ['SLACK_TOKEN', 'DB', 'CACHE', 'GREETING'])).toEqual({
    ok: true,
    manifest: {
      ...{ name: 'chat-bot', title: 'Chat bot', description: 'The worker chat-bot.', organization: 'acme' },
      ...{ scopes: [], entry: 'request', script: 'src/index.ts' },
      vars: { GREETING: 'hello', LIMITS: { perMinute: 60 } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
      secrets: { SLACK_TOKEN: '${{ env.SLACK_TOKEN }}' },
      kv: ['CACHE'],
      assets: {
        ...{ folder: 'public', binding: 'FILES', notFound: 'single-page-application' },
        workerFirst: ['/api/*'],
      },
      schedules: [{ cron: '*/5 * * * *' }, { cron: '0 9 * * mon-fri' }],
      envs: { staging: { vars: { GREETING: 'hi' } } },
    },
    found: [
      '20 error: "d1_databases" (env.DB) is not available: Annex has no D1.',
      '12 warning: The cron "0 9 LW * *" has no counterpart.',
    ],
  });
});

test('a JSON file with comments does, too', () => {
  const { manifest, found } = imported('wrangler.jsonc', JSONC, ['ROOM']);
  expect(manifest).toMatchObject({ name: 'api', script: 'worker.js', vars: { N: -1, on: true } });
  expect(manifest['secrets']).toBeUndefined();
  expect(found).toEqual([
    '6 error: "durable_objects" (env.ROOM) is not available: Annex has no Durable Objects.',
    '7 warning: "migrations" has no counterpart in a manifest.',
    '8 warning: "routes" has no counterpart in a manifest.',
    '10 warning: "odd_key" has no counterpart in a manifest.',
  ]);
});

test('a key is found at its line, and not where a value has its name', () => {
  const { found } = imported('wrangler.toml', 'name = "site"\nmain = "a.js"\n[site]\nbucket = "./public"\n');
  expect(found).toEqual(['3 warning: "site" has no counterpart in a manifest.']);
});

test('a file without a name has that of its folder, and one without code says so', () => {
  const { manifest, found } = imported('wrangler.toml', '');
  expect(manifest['name']).toBe('my-folder');
  expect(found).toEqual(['undefined warning: There is no "main", which names the code.']);
});

describe('attack: a file that', () => {
  test.each([
    ['calls a function', '{ "name": alert(1) }'],
    ['has a getter', '{ get name() { return 1; } }'],
    ['has a computed key', '{ ["name"]: 1 }'],
    ['spreads', '{ ...process.env }'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the file has
    ['has a template', '{ "name": `${process.env.HOME}` }'],
    ['is nested deeper than 32 levels', `{ "vars": ${'['.repeat(40)}${']'.repeat(40)} }`],
    ['exhausts the parser', '['.repeat(100_000)],
    ['is a list', '[1]'],
  ])('%s is refused, and nothing of it runs', (_, text) => {
    expect(() => imported('wrangler.json', text)).toThrow();
  });

  test('has names for a prototype changes none', () => {
    const { manifest } = imported('wrangler.json', '{ "vars": { "__proto__": { "polluted": 1 }, "A": 1 } }');
    expect(manifest['vars']).toEqual({ A: 1 });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('has a text that would end its line of the manifest stays a text', () => {
    const { manifest, ok } = imported(
      'wrangler.json',
      JSON.stringify({ main: 'a.js', vars: { A: 'x\nscopes: [all]' } }),
    );
    expect([ok, manifest['vars'], manifest['scopes']]).toEqual([true, { A: 'x\nscopes: [all]' }, []]);
  });
});
