/**
 * Planted secrets are searched for everywhere: in the operator's log at its lowest level, in
 * answers of the API, in logs of installations, in errors, in the metrics and in the bytes of the
 * database. Only an integration's own answer to its caller may hold them.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installed, TestService } from '../support/service.ts';

/** The secrets, by description; none may be found anywhere. */
const planted = new Map<string, string>();
/** Makes a secret, with characters that JSON and URLs encode. */
const plant = (what: string): string => {
  const value = `pl"${randomBytes(12).toString('base64url')}/+& ${randomBytes(12).toString('base64url')}`;
  planted.set(what, value);
  return value;
};

/** The planted secrets that a text holds, in any encoding. */
function found(text: string): string[] {
  return [...planted].flatMap(([what, value]) => {
    const shapes = {
      'as it is': value,
      'in JSON': JSON.stringify(value).slice(1, -1),
      'in a URL': encodeURIComponent(value),
      'in a form': new URLSearchParams({ v: value }).toString().slice(2),
      'in base64': Buffer.from(value).toString('base64').slice(0, -4),
      'its first half': value.slice(0, 16),
    };
    return Object.entries(shapes)
      .filter(([, shape]) => text.includes(shape))
      .map(([shape]) => `${what} ${shape}`);
  });
}

/** Careless uses of a secret, each at a path of its own. */
const SOURCE = `import { createIntegration } from '@annex/sdk';
const texts = (value) => (typeof value === 'object' ? Object.values(value ?? {}).flatMap(texts) : [value]);
const values = (environment) => [
  ...Object.values(environment.secrets), ...Object.values(environment.signingSecrets),
  ...Object.values(environment.apiTokens), ...texts(environment.configuration.oauth_credentials),
];
const WAYS = {
  logs: (environment) => {
    console.log('environment', environment);
    console.info(JSON.stringify(environment), JSON.stringify(JSON.stringify(environment)));
    for (const value of values(environment)) {
      console.debug('value ' + value, [value], { nested: { value } }, new Map([[value, value]]), new Set([value]));
      console.warn('%s and %o and %j', value, { value }, value);
      console.error(new Error('wrapped ' + value, { cause: new TypeError(value) }));
      console.log(encodeURIComponent(value), new URLSearchParams({ value }), new URL('https://a.example/?v=' + value));
      console.log(btoa('user:' + value), 'Basic ' + btoa(value));
    }
  },
  tables: (environment) => {
    console.table(values(environment));
    console.dir(environment.secrets);
    console.group(values(environment)[0]);
    console.trace(values(environment)[1]);
    console.assert(false, values(environment)[2]);
    console.count(values(environment)[3]);
    console.groupEnd();
  },
  throws: (environment) => { throw new Error(values(environment).join()); },
  throwsObject: (environment) => { throw { ...environment.secrets }; },
  throwsText: (environment) => { throw values(environment)[0]; },
  rejects: async (environment) => { Promise.reject(new Error(values(environment).join(' '))); await 0; },
  fetches: async (environment) => {
    for (const value of values(environment)) {
      const name = encodeURIComponent(value).replaceAll('%', '-').slice(0, 60).toLowerCase();
      for (const url of ['http://127.0.0.1:9/?k=' + value, 'http://10.0.0.1/' + value, 'http://' + name + '.invalid/',
        'https://user:' + encodeURIComponent(value) + '@a.invalid/', 'file:///' + value, value])
        await fetch(url, { headers: { 'x-key': 'a' } }).catch((error) => console.error(url, error));
      await fetch('http://a.invalid/', { headers: { ['x ' + value]: value } }).catch((error) => console.error(error));
    }
    await fetch('http://127.0.0.1:9/?k=' + values(environment)[0]);
  },
  fetchesApi: async (environment) => {
    for (const token of Object.values(environment.apiTokens)) {
      const answer = await fetch(environment.apiEndpoint + '/integrations', { headers: { authorization: 'Bearer ' + token } });
      console.log('the API answered', answer.status, token);
    }
  },
  spins: (environment) => { console.log(values(environment)[0]); for (;;); },
  choices: (environment) => Response.json(values(environment)),
  answers: (environment) => Response.json(environment),
};
export default createIntegration({
  fetch: async (request, { environment }) => {
    const way = new URL(request.url).pathname.split('/').pop();
    if (request.headers.has('x-token')) console.log('sent', request.headers.get('x-token'));
    return (await WAYS[way](environment)) ?? new Response('done');
  },
  events: {
    installation_setup: (_event, { environment }) => { throw new Error(JSON.stringify(environment)); },
  },
});`;

const CREDENTIALS = `
      oauth_credentials:
        type: button
        title: Account
        description: Connects it
        button_text: Connect
        callback_url: /oauth`;
const CONFIGURATION = `configurations:
  account:
    properties:${CREDENTIALS}
      channel:
        type: string
        title: Channel
        description: Where to
        completion_url: /choices
  site:
    properties:${CREDENTIALS}
`;

const log: string[] = [];
let annex: TestService;
let folder: string;
let installed: Installed;
/** The same integration in a site, which has credentials of its own. */
let site: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'annex-planted-'));
  annex = await TestService.start({
    logTo: { write: (line) => void log.push(line) },
    flags: ['--data', folder],
    limits: {
      callCpuMs: 200,
      logLinesPerCall: 1_000,
      logBytesPerCall: 1024 * 1024,
      breachesBeforeCoolDown: 1_000,
    },
  });
  const manifest = `secrets:\n  GIVEN: x\n  WRITTEN: ${JSON.stringify(plant('a secret in the manifest'))}\n${CONFIGURATION}`;
  await annex.publish('keeper', { 'index.js': SOURCE }, manifest);
  await annex.api('PUT', '/v1/integrations/keeper/secrets', {
    json: { GIVEN: plant('a secret that was set') },
  });
  installed = await annex.install('keeper');
  path = `/v1/integrations/keeper/installations/${installed.id}`;
  await connect(path, 'of the installation');
  site = (await annex.installBelow('keeper', installed, 'site', 'site-1')).endpoint;
  await connect(`${path}/sites/site-1`, 'of a site');
});
afterAll(async () => {
  await annex.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Sets `oauth_credentials`, which the answer does not repeat. */
async function connect(target: string, whose: string): Promise<void> {
  const oauth_credentials = {
    access_token: plant(`an access token ${whose}`),
    nested: [{ refresh_token: plant(`a refresh token ${whose}`) }],
  };
  const { status, body } = await annex.api('PATCH', target, {
    json: { configuration: { oauth_credentials } },
  });
  expect({ status, found: found(JSON.stringify(body)) }).toEqual({ status: 200, found: [] });
}

const call = (way: string, headers: Record<string, string> = {}, endpoint = installed.endpoint) =>
  fetch(`${endpoint}/${way}`, { headers }).then((response) => response.text());

test('an integration may answer with its secrets: this shows that the search finds them', async () => {
  const answers = [await call('answers'), await call('answers', {}, site)];
  for (const what of planted.keys()) expect(answers.flatMap(found)).toContain(`${what} in JSON`);
  for (const [index, environment] of answers.map((text) => JSON.parse(text)).entries()) {
    for (const group of ['signingSecrets', 'apiTokens']) {
      for (const [name, value] of Object.entries<string>(environment[group]))
        planted.set(`${group} ${name} ${index}`, value);
    }
  }
  planted.set('the admin token', annex.admin);
  planted.set('a platform token', annex.platform);
  expect(planted.size).toBeGreaterThanOrEqual(10);
});

/** Texts of all lines of the installation's log, oldest first, as the API returns them. */
async function logTexts(): Promise<string[]> {
  await annex.service.store.logs.pass();
  const texts: string[] = [];
  for (let more: string | undefined = ''; more !== undefined; ) {
    const { body } = await annex.api('GET', `/v1/logs?installation=${installed.id}&limit=100${more}`);
    texts.push(...(body['items'] as { text: string }[]).map(({ text }) => text));
    more = body['next'] === undefined ? undefined : `&cursor=${body['next']}`;
  }
  return texts.toReversed();
}

const WAYS = [
  'logs',
  'tables',
  'throws',
  'throwsObject',
  'throwsText',
  'rejects',
  'fetches',
  'fetchesApi',
  'spins',
];
test.each(WAYS)(
  'of an integration that %s with secrets, neither the caller nor a log gets any',
  async (way) => {
    const before = (await logTexts()).length;
    expect(found(await call(way))).toEqual([]);
    await expect.poll(async () => (await logTexts()).length).toBeGreaterThan(before);
    const text = (await logTexts()).slice(before).join('\n');
    expect(found(text)).toEqual([]);
    expect(found(JSON.stringify(text))).toEqual([]);
    expect(text).toContain('[redacted]');
  },
);

test('a log of a site installation with its own credentials has none of them', async () => {
  const before = (await logTexts()).length;
  expect(found(await call('logs', {}, site))).toEqual([]);
  await expect.poll(async () => (await logTexts()).length).toBeGreaterThan(before);
  expect(found((await logTexts()).slice(before).join('\n'))).toEqual([]);
});

test('a log after a completion with the secrets, or after a failed lifecycle event, has none of them', async () => {
  const json = { property: 'channel' };
  const { status, body } = await annex.api('POST', `${path}/completions`, { json });
  expect({ status, found: found(JSON.stringify(body)) }).toEqual({ status: 502, found: [] });
  const events = async () =>
    (await annex.api('GET', `/v1/events?installation=${installed.id}&limit=100`)).body;
  await expect.poll(async () => JSON.stringify(await events())).toContain('"failed"');
  expect(found(JSON.stringify(await events()))).toEqual([]);
  expect(found((await logTexts()).join('\n'))).toEqual([]);
});

test('a token of another principal that is sent to an integration is not in its log', async () => {
  await call('rejects', { 'x-token': annex.admin });
  await expect.poll(async () => (await logTexts()).join('\n')).toContain('sent [redacted]');
  expect(found((await logTexts()).join('\n'))).toEqual([]);
});

const BAD_CONFIGURATIONS = (secret: string): unknown[] => [
  { oauth_credentials: secret },
  { oauth_credentials: [secret] },
  [secret],
  secret,
];
test('an error about a request that sets a secret does not repeat its value', async () => {
  const secret = plant('a secret in a wrong place');
  const answers = [
    ...BAD_CONFIGURATIONS(secret).map((configuration) =>
      annex.api('PATCH', path, { json: { configuration } }),
    ),
    annex.api('PATCH', path, { json: { [secret]: 1 } }),
    ...[
      { GIVEN: [secret] },
      { GIVE: secret },
      { [secret]: 'GIVEN' },
      { GIVEN: secret.repeat(200) },
      secret,
    ].map((json) => annex.api('PUT', '/v1/integrations/keeper/secrets', { json })),
    ...[
      `secrets: ${JSON.stringify(secret)}`,
      `secrets:\n  - ${JSON.stringify(secret)}`,
      `secrets:\n  KEY: [${JSON.stringify(secret)}]`,
      `secrets:\n  KEY: { a: ${JSON.stringify(secret)} }`,
      `secrets:\n  KEY: ${JSON.stringify(`${'${{'} ${secret} }}`)}`,
      `secrets:\n  KEY: ${JSON.stringify(secret.repeat(200))}`,
      `secrets:\n  KEY: "${secret}`,
      `secrets:\n  KEY: a\n  KEY: ${JSON.stringify(secret)}`,
      `secrets:\n  KEY: &anchor ${JSON.stringify(secret)}\n  OTHER: *${secret.slice(3, 9)}`,
    ].map((manifest) => annex.tryPublish('broken', { 'index.js': 'export default {' }, manifest)),
    ...[secret, { KEY: [secret] }, [secret], { OTHER: secret }].map((secrets) => publishWith(secrets)),
    annex.api('POST', '/v1/tokens/introspect', { json: { token: secret } }),
    annex.api('POST', '/v1/tokens/introspect', { json: { token: planted.get('apiTokens installation') } }),
  ];
  for (const { status, body } of await Promise.all(answers)) {
    expect({ status, found: found(JSON.stringify(body)), body }).toMatchObject({ found: [] });
  }
});

/** An upload whose `secrets` part is this. */
function publishWith(secrets: unknown) {
  const form = new FormData();
  form.append(
    'manifest',
    `name: broken\ntitle: x\ndescription: x\norganization: acme\nvisibility: private\nscopes: []\nscript: index.js\nsecrets:\n  KEY: \${{ env.KEY }}\n`,
  );
  form.append('secrets', JSON.stringify(secrets));
  form.append('files', new Blob(['export default { fetch: () => new Response() };']), 'index.js');
  return annex.api('POST', '/v1/integrations', { form });
}

test('no GET route has any of the secrets in its answer', async () => {
  const { body } = await annex.api('GET', '/v1/openapi.json');
  const routes = Object.entries(body['paths'] as Record<string, object>).filter(
    ([, methods]) => 'get' in methods,
  );
  expect(routes.length).toBeGreaterThan(10);
  const link = await annex.api('POST', '/v1/integrations/keeper/install-link', { json: {} });
  planted.set('the token of an install link', String(link.body['token']));
  const parameters: Record<string, string> = {
    id: installed.id,
    name: 'keeper',
    version: '1',
    space: 'space-1',
    site: 'site-1',
    token: planted.get('the token of an install link') ?? '',
    '*': 'icon.png',
  };
  for (const [route] of routes) {
    const url = route.replaceAll(/\{([^}]+)\}/g, (_, name: string) => parameters[name] ?? 'none');
    const query = `?installation=${installed.id}&limit=100`;
    for (const token of [annex.admin, annex.platform]) {
      for (const target of [url, url + query]) {
        const headers = { authorization: `Bearer ${token}` };
        const answer = await fetch(`${annex.service.controlUrl}${target}`, { headers });
        expect({ target, status: answer.status, found: found(await answer.text()) }).toMatchObject({
          found: [],
          status: expect.not.toSatisfy((status: number) => status >= 500),
        });
      }
    }
  }
});

test('no page for operators has any of the secrets', async () => {
  for (const page of ['/metrics', '/health', '/ready', '/']) {
    const text = await (await fetch(`${annex.service.controlUrl}${page}`)).text();
    expect({ page, found: found(text) }).toEqual({ page, found: [] });
  }
});

test("nor has the operator's log, at its lowest level, or any file but those of the key and the token", async () => {
  await annex.service.store.logs.pass();
  expect(log.length).toBeGreaterThan(20);
  expect(found(log.join(''))).toEqual([]);
  const files = (await readdir(folder)).filter((file) => file.startsWith('annex.db'));
  expect(files).toContain('annex.db');
  for (const file of files) {
    const bytes = await readFile(join(folder, file), 'latin1');
    expect({ file, found: found(bytes) }).toEqual({ file, found: [] });
  }
});
