/**
 * Every member of a manifest (`docs/contract/manifest.md#members`), with valid and invalid values,
 * through the reader and through the schema that editors use. The two must agree, except where only
 * the reader can detect a problem.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { MANIFEST_SCHEMA, parseManifest } from '../../../../src/model/manifest/manifest.ts';
import { SCOPES } from '../../../../src/model/manifest/scope.ts';

/** Members of a manifest as YAML text; `undefined` leaves one out. */
type Members = Record<string, string | undefined>;

const BASE: Members = {
  name: 'hello',
  title: 'Hello',
  description: 'An example.',
  organization: 'acme',
  visibility: 'private',
  scopes: '[]',
};

const yamlOf = (members: Members): string =>
  Object.entries({ ...BASE, ...members })
    .map(([key, value]) => (value === undefined ? '' : `${key}: ${value}\n`))
    .join('');

const fitsSchema = new Ajv2020({ strict: false }).compile(MANIFEST_SCHEMA);

/** `right`: no problem. Else a part of the message of the expected error or warning. */
type Expected = 'right' | { readonly error: string } | { readonly warning: string };
const error = (text: string): Expected => ({ error: text });
const warning = (text: string): Expected => ({ warning: text });

/** Whether the schema agrees with the reader. */
type Schema = 'same' | 'reader only';
type Row = readonly [members: Members, expected: Expected, schema?: Schema];

function checkRow([members, expected, schema = 'same']: Row): void {
  const yaml = yamlOf(members);
  const read = parseManifest(yaml, { internalOrganizations: ['internal'] });
  const problems = read.ok ? read.warnings : read.problems;
  const written = problems.map(
    ({ severity, line, message, hint }) => `${severity} ${line}: ${message} ${hint}`,
  );
  if (expected === 'right') expect(written).toEqual([]);
  else {
    const [severity = '', text = ''] = Object.entries(expected)[0] ?? [];
    expect(read.ok).toBe(severity === 'warning');
    expect(
      written.some((one) => one.startsWith(severity) && one.includes(text)),
      written.join('\n'),
    ).toBe(true);
    for (const { line, column, file } of problems)
      expect([line !== undefined && line > 0, column !== undefined, file]).toEqual([
        true,
        true,
        'platform-manifest.yaml',
      ]);
  }
  expect(new Set(written).size, 'each problem once').toBe(written.length);
  const fits = fitsSchema(parse(yaml));
  expect(fits, JSON.stringify(fitsSchema.errors)).toBe(expected === 'right' || schema === 'reader only');
}

const titled = (rows: readonly Row[]) =>
  rows.map((row) => [JSON.stringify(row[0]).slice(0, 90), row] as const);
const long = (chars: number) => 'x'.repeat(chars);
const list = (count: number, item: (index: number) => string) =>
  `[${Array.from({ length: count }, (_, index) => item(index)).join(', ')}]`;

describe('the fields of a manifest', () => {
  const FIELDS: Row[] = [
    [{ name: undefined }, error('"name" is required.')],
    [{ name: 'a1-b2' }, 'right'],
    [{ name: 'Hello' }, warning('Write it in lower case.')],
    [{ name: 'a--b' }, error('"name" must be letters and digits')],
    [{ name: 'a_b' }, error('"name" must be letters and digits')],
    [{ name: long(63) }, 'right'],
    [{ name: long(64) }, error('at most 63 characters')],
    [{ name: '7' }, error('Put it in quotes.')],
    [{ title: undefined }, error('"title" is required.')],
    [{ title: '""' }, error('must not be empty')],
    [{ title: '[Hello]' }, error('must be text, not a list')],
    [{ title: long(255) }, 'right'],
    [{ title: long(256) }, error('has 256 characters; at most 255')],
    [{ title: '"a\\0b"' }, error('cannot be stored'), 'reader only'],
    [{ description: undefined }, error('"description" is required.')],
    [{ description: 'true' }, error('not a boolean')],
    [{ description: long(2_048) }, 'right'],
    [{ description: long(2_049) }, error('at most 2048')],
    [{ summary: '"# Markdown\\n\\n- a list"' }, 'right'],
    [{ summary: long(2_048) }, 'right'],
    [{ summary: long(2_049) }, error('"summary" has 2049 characters; at most 2048 are allowed.')],
    [{ summary: '😀'.repeat(2_048) }, 'right'],
    [{ organization: undefined }, error('"organization" is required.')],
    [{ organization: 'Acme_1.eu' }, 'right'],
    [{ organization: '"../acme"' }, error('the id or the subdomain')],
    [{ visibility: undefined }, 'right'],
    [{ visibility: 'private' }, 'right'],
    [{ visibility: 'unlisted' }, 'right'],
    [{ visibility: 'public' }, 'right'],
    [{ visibility: 'pubic' }, error('Did you mean "public"?')],
    [{ visibility: 'secret' }, error('must be one of private, unlisted, public, not "secret"')],
    ...['all', 'organization', 'space', 'site'].map((target): Row => [{ target }, 'right']),
    [{ target: 'spaces' }, error('Did you mean "space"?')],
    [{ script: 'src/index.ts' }, 'right'],
    [{ script: '{path: a}' }, error('must be text, not a map')],
    [{ categories: '[analytics, collaboration, content, marketing, authenticated-access, other]' }, 'right'],
    [{ categories: '[visitor-auth]' }, 'right'],
    [{ categories: '[analytic]' }, error('Did you mean "analytics"?')],
    [{ categories: '[gardening]' }, warning('"categories[0]" "gardening" is not known here and is ignored.')],
    [{ categories: 'other' }, error('must be a list, not text')],
    [{ categories: '[other, other]' }, warning('repeats "other" and is ignored'), 'reader only'],
    [{ secrets: `{TOKEN: "\${{ env.TOKEN }}", _b2: plain}` }, 'right'],
    [{ secrets: '{2a: x}' }, error('The name of a secret')],
    [{ secrets: '{A: 12}' }, error('must be text')],
    [{ secrets: '{A: }' }, error('The secret "A" has no value.')],
    [{ secrets: '[TOKEN]' }, error('must be a map')],
    [{ egress: '[api.example.com, "*.example.com:8443"]' }, 'right'],
    [{ egress: '[]' }, 'right'],
    [{ egress: '["https://example.com/"]' }, error('without scheme and path'), 'reader only'],
    [{ egress: list(101, (i) => `h${i}.example`) }, error('has 101 entries; at most 100')],
    [{ icn: 'x' }, warning('"icn" is not a known key and is ignored. Did you mean "icon"?')],
  ];
  test.each(titled(FIELDS))('%s', (_members, row) => checkRow(row));

  test('are all reported at once', () => {
    const read = parseManifest('name: not good\nscopes: [nothing]\nblocks: [{id: one}]\nicon: ../x.png\n');
    expect(read.ok ? [] : read.problems.map(({ message }) => message.split(' ', 1)[0]).sort()).toEqual([
      '"blocks[0].title"',
      '"description"',
      '"icon"',
      '"name"',
      '"organization"',
      '"scopes[0]"',
      '"title"',
    ]);
  });
});

describe('plain workers', () => {
  const ROWS: Row[] = [
    [{ entry: 'request' }, 'right'],
    [{ entry: 'envelope' }, 'right'],
    [{ entry: 'requests' }, error('must be one of envelope, request')],
    [{ vars: '{A: text, B: 1, C: {d: [true, null]}}', kv: '[STORE]' }, 'right'],
    [{ vars: '{1A: x}' }, error('The name of a variable must be')],
    [
      { vars: `{${Array.from({ length: 101 }, (_, i) => `A${i}: 1`)}}` },
      error('has 101 entries; at most 100'),
    ],
    [{ assets: './public/' }, 'right'],
    [{ assets: '{folder: dist, notFound: 404-page, html: none, workerFirst: [/api/*]}' }, 'right'],
    [{ assets: '../public' }, error('must be a folder beside the manifest')],
    [{ assets: '{folder: dist, workerFirst: [api]}' }, error('must be a path that begins with "/"')],
    [{ kv: '["not a name"]' }, error('must be letters, digits and "_"')],
    [{ kv: list(21, (i) => `KV${i}`) }, error('has 21 entries; at most 20')],
    [{ vars: '{A: x}', secrets: '{A: y}' }, error('"A" is already the name of something'), 'reader only'],
    [{ vars: '{ANNEX: x}' }, error('"ANNEX" is already the name of something'), 'reader only'],
    [{ entry: 'envelope', kv: '[A]' }, error('"kv" has no meaning with "entry: envelope"'), 'reader only'],
    [{ entry: 'request', d1_databases: '[]' }, error('"d1_databases" is not available: Annex has no D1.')],
    [{ d1_databases: '[]' }, warning('"d1_databases" is not a known key and is ignored')],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));
});

describe('scopes', () => {
  const internal = ['site:script:inject', 'site:script:cookies'];
  const ROWS: Row[] = [
    ...SCOPES.filter((scope) => !internal.includes(scope)).map(
      (scope): Row => [{ scopes: `[${scope}]` }, 'right'],
    ),
    ...internal.map(
      (scope): Row => [{ scopes: `[${scope}]` }, error('is reserved for integrations'), 'reader only'],
    ),
    ...internal.map((scope): Row => [{ scopes: `[${scope}]`, organization: 'internal' }, 'right']),
    [{ scopes: undefined }, error('Write [] for an empty list.')],
    [{ scopes: '[space:content:reed]' }, error('Did you mean "space:content:read"?')],
    [{ scopes: '[space:everything]' }, warning('"space:everything" is not known here and is ignored.')],
    [{ scopes: '[7]' }, error('must be text')],
    [{ scopes: 'openapi:read' }, error('must be a list')],
    [{ scopes: '[openapi:read, openapi:read]' }, warning('repeats "openapi:read"'), 'reader only'],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));

  test('that are reserved are refused at their own line', () => {
    const read = parseManifest(yamlOf({ scopes: '\n  - openapi:read\n  - site:script:inject' }));
    expect(read.ok ? [] : read.problems).toMatchObject([{ line: 8, column: 5 }]);
  });
});

describe('blocks', () => {
  const block = (members: string) => ({ blocks: `[{id: a, title: A, ${members}}]` });
  const ROWS: Row[] = [
    [block('description: D'), 'right'],
    [{ blocks: '[{id: a, title: A}]' }, 'right'],
    [{ blocks: '[{id: a}]' }, error('"blocks[0].title" is required.')],
    [{ blocks: '[{title: A}]' }, error('"blocks[0].id" is required.')],
    [{ blocks: '[a]' }, error('"blocks[0]" must be a map')],
    [{ blocks: '[{id: a, title: A}, {id: a, title: B}]' }, error('is there twice'), 'reader only'],
    [block('description: 7'), error('must be text')],
    [block('icon: ./images/a.png'), 'right'],
    [block('icon: ../a.png'), error('the relative path of an uploaded file')],
    [block('urlUnfurl: ["https://example.com/boards/*", "http://*.example.com"]'), 'right'],
    [block('urlUnfurl: ["https://example.com/**"]'), 'right'],
    [block('urlUnfurl: ["javascript:alert(1)"]'), warning('the beginning of a URL and is ignored')],
    [block('urlUnfurl: ["https://*.com"]'), warning('the beginning of a URL and is ignored')],
    [block(`urlUnfurl: ["https://e.example/${'*a'.repeat(9)}"]`), warning('at most 8 wildcards')],
    [block('urlUnfurl: https://example.com'), error('must be a list')],
    [block(`urlUnfurl: ${list(51, (i) => `"https://e.example/${i}"`)}`), error('at most 50')],
    [block('markdown: {codeblock: mermaid, body: content}'), 'right'],
    [block('markdown: {codeblock: mermaid}'), error('"blocks[0].markdown.body" is required.')],
    [block('markdown: {codeblock: "a b", body: content}'), error('the language of a code block')],
    [block('markdown: {codeblock: a, body: "x.y"}'), error('a member of the props')],
    [block('markdown: {codeblock: a, body: b, boddy: c}'), warning('Did you mean "body"?')],
    [
      block('titel: T'),
      warning('"blocks[0].titel" is not a known key and is ignored. Did you mean "title"?'),
    ],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));
});

describe('the installation page', () => {
  const link = (url: string) => ({ externalLinks: `[{label: Docs, url: "${url}"}]` });
  const ROWS: Row[] = [
    ...['icon.png', './icon.png', 'a/b/ü 1.png', '.hidden/x.png'].map((icon): Row => [{ icon }, 'right']),
    // Attack: paths to a file outside of the upload, or to another resource of the service.
    ...[
      '../icon.png',
      'a/../../icon.png',
      '/etc/icon.png',
      './../icon.png',
      'a//b.png',
      'a/./b.png',
      'a/',
    ].map((icon): Row => [{ icon }, error('"icon" must be the relative path')]),
    [{ icon: '"C:\\\\icon.png"' }, error('the relative path')],
    [{ icon: '"a\\nb.png"' }, error('the relative path')],
    [{ icon: '[icon.png]' }, error('must be text')],
    [{ previewImages: '[a.png, b.png]' }, 'right'],
    [{ previewImages: 'a.png' }, error('must be a list')],
    [{ previewImages: '[../a.png]' }, error('"previewImages[0]" must be')],
    [{ previewImages: list(10, (i) => `${i}.png`) }, 'right'],
    [{ previewImages: list(11, (i) => `${i}.png`) }, error('has 11 entries; at most 10')],
    [link('https://example.com/docs?a=b#c'), 'right'],
    [link('http://localhost:8080'), 'right'],
    // Attack: URLs that run code in the page that shows the link, and disguised schemes.
    ...[
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'data:text/html,x',
      '//example.com',
      '/docs',
      'ftp://a.b',
    ].map((url): Row => [link(url), error('an absolute URL that begins with https:// or http://')]),
    [link('https://bank.example@evil.example/'), error('without a user name')],
    [link('https://a.example\\\\@b.example'), error('an absolute URL')],
    [link('https://a b.example'), error('an absolute URL')],
    [link('https://[::1'), error('must be a URL'), 'reader only'],
    [{ externalLinks: '[{url: "https://a.example"}]' }, error('"externalLinks[0].label" is required.')],
    [{ externalLinks: '[{label: Docs}]' }, error('"externalLinks[0].url" is required.')],
    [{ externalLinks: '[{label: D, url: "https://a.example", lable: x}]' }, warning('Did you mean "label"?')],
    [{ externalLinks: list(21, () => '{label: D, url: "https://a.example"}') }, error('at most 20')],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));
});

describe('the content security policy', () => {
  const contentSecurityPolicy = (value: string) => ({ contentSecurityPolicy: value });
  const ROWS: Row[] = [
    [contentSecurityPolicy(`"default-src 'self'; img-src https: data:"`), 'right'],
    [contentSecurityPolicy(`{default-src: "'self'", img-src: "https: data:", sandbox: ""}`), 'right'],
    // Attack: a line break in a header, to add another header.
    [contentSecurityPolicy('"default-src a\\r\\nset-cookie: a=b"'), warning('several lines, read as one')],
    [contentSecurityPolicy('{default-src: "a\\nset-cookie: a=b"}'), warning('must be one line')],
    [contentSecurityPolicy('"default-src a\\u0085b"'), error('printable ASCII on one line')],
    [contentSecurityPolicy('{default-src: "a\\u2028b"}'), error('must be printable ASCII')],
    // Attack: a separator in a directive, to add another directive.
    [contentSecurityPolicy('{img-src: "a; script-src *"}'), warning('without ";" and ","')],
    [contentSecurityPolicy('{img-src: "a, script-src *"}'), warning('without ";" and ","')],
    [contentSecurityPolicy('{imgSrc: a}'), warning('is read as "img-src"')],
    [contentSecurityPolicy('{img-scr: a}'), warning('Did you mean "img-src"?')],
    [contentSecurityPolicy(`"${long(4_097)}"`), error('at most 4096')],
    [contentSecurityPolicy('[a]'), error('must be a map')],
    [contentSecurityPolicy('7'), error('must be text')],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));
});

describe('configurations', () => {
  const account = (text: string) => ({ configurations: `{account: ${text}}` });
  const property = (text: string) => account(`{properties: {a: {${text}}}}`);
  const button = 'type: button, title: T, description: D, button_text: Connect, callback_url: /oauth';
  const properties = (count: number) =>
    `{properties: {${Array.from({ length: count }, (_, i) => `p${i}: {type: string}`).join(', ')}}}`;
  const ROWS: Row[] = [
    ...['account', 'site', 'space'].map(
      (level): Row => [{ configurations: `{${level}: {properties: {a: {type: string}}}}` }, 'right'],
    ),
    [{ configurations: '{acount: {componentId: a}}' }, warning('Did you mean "account"?')],
    [
      { configurations: '{site: {componentId: a}}', target: 'space' },
      warning('never installed in a site'),
      'reader only',
    ],
    [account('{componentId: settings}'), 'right'],
    [account('{componentId: a, properties: {}}'), warning('"properties" is ignored')],
    [account('{componentId: a, required: []}'), warning('"required" is ignored')],
    [account('{}'), warning('has no settings')],
    [account('{required: [a]}'), warning('has no settings')],
    [account('{properties: {a: {type: string}}, required: [a]}'), 'right'],
    [
      account('{properties: {aa: {type: string}}, required: [ab]}'),
      warning('Did you mean "aa"?'),
      'reader only',
    ],
    [account('{properties: {a: {type: string}}, required: a}'), error('must be a list')],
    [account('{properties: {a: {type: string}}, requierd: [a]}'), warning('Did you mean "required"?')],
    [account('{properties: {}}'), 'right'],
    [account(properties(100)), 'right'],
    [account(properties(101)), error('There are 101 properties; at most 100')],
    [account(`{properties: {${long(64)}: {type: string}}}`), 'right'],
    [account(`{properties: {${long(65)}: {type: string}}}`), error('The name of a property')],
    [account('{properties: {"a.b": {type: string}}}'), error('The name of a property')],
    // string
    [property('type: string, title: T, description: D, default: x'), 'right'],
    [property('type: string, default: ""'), 'right'],
    [property('type: string, default: 7'), warning('it is read as "7"')],
    [property('type: string, default: {a: 1}'), warning('it is ignored')],
    [property('type: string, title: 7'), error('must be text')],
    [property('type: string, enum: [a, b], default: b'), 'right'],
    [
      property('type: string, enum: [first, second], default: frist'),
      warning('Did you mean "first"?'),
      'reader only',
    ],
    [property('type: string, enum: []'), warning('has no choices and is ignored')],
    [property('type: string, enum: ["", a]'), warning('is an empty choice')],
    [property('type: string, enum: [1]'), warning('is read as the text "1". Put it in quotes.')],
    [property('type: string, enum: [{id: a}]'), error('must be text, not a map')],
    [property('type: string, enum: [a, a]'), warning('repeats "a"'), 'reader only'],
    [property(`type: string, enum: ${list(500, (i) => `c${i}`)}`), 'right'],
    [property(`type: string, enum: ${list(501, (i) => `c${i}`)}`), error('at most 500')],
    [property('type: string, enum: [a, b], multiple: true, default: [b]'), 'right'],
    [property('type: string, enum: [a, b], multiple: false, default: b'), 'right'],
    [property('type: string, enum: [a, b], multiple: "yes"'), error('must be true or false, not text')],
    [property('type: string, multiple: true'), error('"multiple" goes with "enum"')],
    [property('type: string, enum: [a], multiple: true, default: a'), error('must be a list, not text')],
    [property('type: string, enum: [a], default: [a]'), warning('it is ignored')],
    [property('type: string, enum: [a], multiple: true, default: []'), error('at least one choice')],
    [property('type: string, enum: [a], multiple: true, default: [1]'), error('Put it in quotes.')],
    [
      property('type: string, enum: [first, second], multiple: true, default: [first, secnod]'),
      error('"configurations.account.properties.a.default[1]" must be one of the choices in "enum"'),
      'reader only',
    ],
    ...['/options', 'options', 'a/b.json', '/'].map(
      (path): Row => [property(`type: string, completion_url: "${path}"`), 'right'],
    ),
    // number, boolean
    [property('type: number, title: T, description: D, default: 1.5'), 'right'],
    [property('type: number, default: "1"'), warning('it is read as "1"')],
    [property('type: number, default: many'), warning('it is ignored')],
    [property('type: number, multiple: true'), warning('is not a known key of a number property')],
    [property('type: number, enum: [a]'), warning('is not a known key of a number property')],
    [property('type: boolean, title: T, description: D, default: true'), 'right'],
    [property('type: boolean, default: 1'), warning('must be true or false; it is ignored')],
    // button
    [property(button), 'right'],
    [property('type: button, button_text: Connect'), warning('opens nothing')],
    [property('type: button, callbackUrl: /a'), warning('is read as "callback_url"')],
    [property(`${button}, default: x`), warning('A button has no default')],
    [property(`${button}, buton_text: x`), warning('Did you mean "button_text"?')],
    [property('type: button, callback_url: /a, button_text: 1'), error('must be text')],
    [account(`{properties: {oauth_credentials: {${button}}}, required: [oauth_credentials]}`), 'right'],
    [account(`{properties: {connect: {${button}}}, required: [connect]}`), 'right'],
    [
      account('{properties: {oauth_credentials: {type: string}}}'),
      warning('it is read as a button'),
      'reader only',
    ],
    // any
    [property('title: T'), warning('has no type and is read as a string')],
    [property('callback_url: /a'), warning('has no type and is read as a button')],
    [property('type: sting'), warning('"sting" is read as "string"')],
    [property('type: Text'), warning('is read as "string"')],
    [property('type: bool'), warning('is read as "boolean"')],
    [property('type: integer'), warning('is read as "number"')],
    [property('type: int'), warning('is read as "number"')],
    [property('type: colour, callback_url: /a, buton_text: x'), warning('is not a known type')],
    [property('type: string, enum: a'), error('must be a list')],
    [account('{properties: {a: string}}'), error('must be a map')],
    [account('{properties: {a: }}'), error('The property "a" has no value.')],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));

  // Attack: URLs that would send the user who presses the button, or the host, to another server
  // than the endpoint.
  test.each([
    ...[
      'https://evil.example/',
      'javascript:alert(1)',
      '//evil.example',
      '/\\\\evil.example',
      '\\\\\\\\evil.example',
    ],
    ...[
      '../other',
      '/..',
      '/a/../../b',
      '/%2e%2e/b',
      './a',
      '/a?next=//evil',
      '/a#b',
      '/a//b',
      '/a b',
      'a\\nb',
    ],
  ])('stay below the endpoint: %s', (path) => {
    for (const members of [
      `type: button, callback_url: "${path}"`,
      `type: string, completion_url: "${path}"`,
    ])
      checkRow([property(members), error('must be a path below the endpoint')]);
  });
});

describe('webhooks', () => {
  const url = 'to: {type: string}';
  const types = (enumeration: string) => `what: {type: string, multiple: true, enum: ${enumeration}}`;
  const level = (name: string, ...properties: string[]) =>
    `${name}: {properties: {${properties.join(', ')}}}`;
  const SPACE = level('space', url, types('[space_content_updated]'));
  const SITE = level('site', url, types('[page_feedback, site_view]'));
  const declared = (configurations: string, webhook = '{url: to, eventTypes: what}') => ({
    webhook,
    configurations: `{${configurations}}`,
  });
  const ROWS: Row[] = [
    [declared(`${SPACE}, ${SITE}`), 'right'],
    [declared(SPACE), 'right'],
    [declared(SITE), 'right'],
    [declared(level('site', url, types('[site_view]'))), 'right'],
    [declared(`${level('account', 'a: {type: string}')}, ${SITE}`), 'right'],
    [declared(SITE, '{url: to}'), error('"webhook.eventTypes" is required.')],
    [declared(SITE, '{eventTypes: what}'), error('"webhook.url" is required.')],
    [declared(SITE, '[to, what]'), error('"webhook" must be a map')],
    [declared(SITE, '{url: 7, eventTypes: what}'), error('must be text, not a number')],
    [declared(SITE, '{url: to, eventTypes: what, eventTypos: x}'), warning('Did you mean "eventTypes"?')],
    // Retry schedules (`docs/contract/webhooks.md#schedules`).
    ...['contract', 'hours', 'days', '[1s]', '[10s, 5m, 2h, 1d]', '[7d]', `[${Array(20).fill('1s')}]`].map(
      (retries): Row => [declared(SITE, `{url: to, eventTypes: what, retries: ${retries}}`), 'right'],
    ),
    ...[
      'weeks',
      'none',
      '5m',
      '[]',
      '[0s]',
      '[1.5h]',
      '[1w]',
      '[-1s]',
      '[7]',
      `[${Array(21).fill('1s')}]`,
    ].map(
      (retries): Row => [
        declared(SITE, `{url: to, eventTypes: what, retries: ${retries}}`),
        error('"webhook.retries'),
      ],
    ),
    [
      declared(SITE, '{url: to, eventTypes: what, retries: [6d, 23h, 59m, 61s]}'),
      error('"webhook.retries" must be contract, hours, days, or 1 to 20 delays'),
      'reader only',
    ],
    [
      declared(
        level('site', url, types('[site_view]'), 'often: {type: string, enum: [contract, hours, days]}'),
        '{url: to, eventTypes: what, retries: hours, retriesSetting: often}',
      ),
      'right',
    ],
    [
      declared(SITE, '{url: to, eventTypes: what, retriesSetting: often}'),
      error('"webhook.retriesSetting" must name one of the properties'),
      'reader only',
    ],
    [
      declared(SITE, '{url: to, eventTypes: what, retriesSetting: to}'),
      error('"to" holds a retry schedule, so it must be a choice.'),
      'reader only',
    ],
    [
      declared(
        level('site', url, types('[site_view]'), 'often: {type: string, enum: [hours, dayz]}'),
        '{url: to, eventTypes: what, retriesSetting: often}',
      ),
      error('must be a retry schedule: contract, hours, days, not "dayz". Did you mean "days"?'),
      'reader only',
    ],
    // Schemes of signatures (`docs/contract/webhooks.md#standard-webhooks`).
    ...['platform', 'standard', 'both'].map(
      (scheme): Row => [declared(SITE, `{url: to, eventTypes: what, signature: ${scheme}}`), 'right'],
    ),
    [
      declared(SITE, '{url: to, eventTypes: what, signature: standart}'),
      error('"webhook.signature" must be one of platform, standard, both, not "standart". Did you mean'),
    ],
    [
      declared(
        level('site', url, types('[site_view]'), 'how: {type: string, enum: [platform, stripe]}'),
        '{url: to, eventTypes: what, signatureSetting: how}',
      ),
      error('must be a signature scheme: platform, standard, both, not "stripe".'),
      'reader only',
    ],
    // Rates (`docs/contract/webhooks.md#rate`).
    ...[1, 100].map((rate): Row => [declared(SITE, `{url: to, eventTypes: what, rate: ${rate}}`), 'right']),
    ...[0, 101, 1.5, 'fast'].map(
      (rate): Row => [
        declared(SITE, `{url: to, eventTypes: what, rate: ${rate}}`),
        error('"webhook.rate" must be a whole number of requests per second, 1 to 100.'),
      ],
    ),
    [
      declared(
        level('site', url, types('[site_view]'), "how: {type: string, enum: ['3']}"),
        '{url: to, eventTypes: what, rateSetting: how}',
      ),
      error('must be a number of requests per second: 1, 2, 5, 10, 20, 50, 100, not "3".'),
      'reader only',
    ],
    // Settings that do not exist.
    [{ webhook: '{url: to, eventTypes: what}' }, error('are those of a space or a site'), 'reader only'],
    [declared(level('account', url)), error('are those of a space or a site'), 'reader only'],
    [declared(SITE, '{url: too, eventTypes: what}'), error('Did you mean "to"?'), 'reader only'],
    [
      declared(SITE, '{url: toString, eventTypes: what}'),
      error('"webhook.url" must name one of the properties of "configurations.site"'),
      'reader only',
    ],
    [
      declared(`${SPACE}, ${level('site', url)}`),
      error('"webhook.eventTypes" must name one of the properties of "configurations.site"'),
      'reader only',
    ],
    [
      declared(`${SPACE}, site: {componentId: settings}`),
      error('must be "properties" of "configurations.site"'),
      'reader only',
    ],
    // Settings of the wrong type.
    [
      declared(level('site', 'to: {type: number}', types('[site_view]'))),
      error('"to" holds the URL of a webhook, so it must be one text.'),
      'reader only',
    ],
    [
      declared(level('site', 'to: {type: string, enum: [a], multiple: true}', types('[site_view]'))),
      error('so it must be one text'),
      'reader only',
    ],
    [
      declared(level('site', url, 'what: {type: string, enum: [site_view]}')),
      error('"what" holds types of events, so it must be a list of choices.'),
      'reader only',
    ],
    [
      declared(level('site', url, 'what: {type: boolean}')),
      error('Write "type: string", "multiple: true" and "enum: [site_view, page_feedback]".'),
      'reader only',
    ],
    [
      declared(level('site', url, 'what: {type: lists}')),
      error('must name one of the properties of "configurations.site"'),
    ],
    // Events that cannot be selected (`docs/contract/webhooks.md#selection`).
    [
      declared(level('space', url, types('[space_content_updated, site_view]'))),
      error(
        '"configurations.space.properties.what.enum[1]" must be an event that a webhook of a space can post: space_content_updated, not "site_view".',
      ),
      'reader only',
    ],
    [
      declared(level('site', url, types('[site_views]'))),
      error('a webhook of a site can post: site_view, page_feedback, not "site_views". Did you mean'),
      'reader only',
    ],
    [
      declared(level('site', url, types('[installation_setup]'))),
      error('not "installation_setup"'),
      'reader only',
    ],
  ];
  test.each(titled(ROWS))('%s', (_members, row) => checkRow(row));

  test('an event that cannot be selected is reported at its own line', () => {
    const configurations =
      '\n  space:\n    properties:\n      to: {type: string}\n      what:\n        type: string\n        multiple: true\n        enum:\n          - space_content_updated\n          - space_view';
    const read = parseManifest(yamlOf({ webhook: '{url: to, eventTypes: what}', configurations }));
    expect(read.ok ? [] : read.problems).toMatchObject([{ line: 17, column: 13 }]);
  });
});

test('the schema shows one mistake where a property has an unknown type', () => {
  const check = new Ajv2020({ strict: false, allErrors: true }).compile(MANIFEST_SCHEMA);
  const configurations = { account: { properties: { a: { type: 'bool', title: 'T' } } } };
  const manifest = {
    name: 'hello',
    title: 'T',
    description: 'D',
    organization: 'acme',
    visibility: 'private',
    scopes: [],
  };
  check({ ...manifest, configurations });
  const at = '/configurations/account/properties/a';
  const found = check.errors?.filter(({ instancePath }) => instancePath.startsWith(at));
  expect(found).toMatchObject([{ keyword: 'enum', instancePath: `${at}/type` }]);
});
