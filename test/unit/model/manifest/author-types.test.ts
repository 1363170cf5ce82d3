/**
 * Generated author types: with them, the real compiler checks an integration's code against its
 * manifest.
 */
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { Environment as AuthorsEnvironment } from '../../../../sandbox/sdk/index.ts';
import type { Environment } from '../../../../src/model/environment.ts';
import { authorTypes, type TypedManifest } from '../../../../src/model/manifest/author-types.ts';
import type { ConfigurationProperty } from '../../../../src/model/manifest/configuration.ts';
import { type Manifest, parseManifest } from '../../../../src/model/manifest/manifest.ts';
import { AuthorFolder } from '../../../support/sdk/author.ts';

const HEAD = `name: typed
title: Typed
description: For a test.
organization: acme
visibility: private
scopes: []
script: index.ts
`;

const MANIFEST = `${HEAD}blocks:
  - { id: poll, title: Poll }
configurations:
  account:
    required: [region]
    properties:
      region: { type: string, title: Region, enum: [eu, us] }
      api-key: { type: string }
      retries: { type: number, description: How often., default: 3 }
      verbose: { type: boolean }
      events: { type: string, enum: [made, gone], multiple: true }
      oauth_credentials: { type: button, callback_url: /oauth }
      reconnect: { type: button, callback_url: /oauth }
  space:
    properties:
      channel: { type: string }
      retries: { type: string }
secrets:
  CLIENT_SECRET: \${{ env.CLIENT_SECRET }}
calls:
  - { name: invoice.total }
`;

function manifestOf(yaml: string): Manifest {
  const parsed = parseManifest(yaml);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

const bare: TypedManifest = { name: 'typed', blocks: [], configurations: {}, secrets: {} };
const withProperty = (property: ConfigurationProperty, name = 'it'): TypedManifest => ({
  ...bare,
  configurations: { account: { properties: { [name]: property }, required: [] } },
});

/**
 * A module whose fetch handler runs `statements`, with `environment`, `installation` and the like
 * in scope.
 */
const handler = (statements: string) => `
import { type ComponentId, createIntegration, type OAuthCredentials } from '@annex/sdk';
export default createIntegration({
  async fetch(_request, { environment }) {
    const { installation, spaceInstallation, siteInstallation, secrets } = environment;
    ${statements}
    return Response.json([installation, spaceInstallation, siteInstallation, secrets]);
  },
});
export type Used = ComponentId | OAuthCredentials;
`;

/** Compiles each handler with the types of MANIFEST; returns its first error message, if any. */
async function complaints(statements: readonly string[]): Promise<(string | undefined)[]> {
  const files = statements.map((text, index) => [`use-${index}.ts`, handler(text)] as const);
  const folder = await AuthorFolder.make({
    'platform-manifest.yaml': MANIFEST,
    ...Object.fromEntries(files),
  });
  expect(await folder.types()).toMatchObject({ code: 0 });
  const findings = await folder.compile();
  expect(findings.filter(({ file }) => !file.startsWith('use-'))).toEqual([]);
  return files.map(([name]) => findings.find(({ file }) => file === name)?.message);
}

describe('with its types, code that agrees with the manifest compiles', () => {
  const good = [
    `const region: 'eu' | 'us' | undefined = installation?.configuration.region; return Response.json(region);`,
    `const key: string | undefined = installation?.configuration['api-key']; return Response.json(key);`,
    `const retries: number = installation?.configuration.retries ?? 3; return Response.json(retries);`,
    `const events: readonly ('made' | 'gone')[] | undefined = installation?.configuration.events; return Response.json(events?.includes('made'));`,
    `const verbose: boolean | undefined = installation?.configuration.verbose; return Response.json(verbose);`,
    `const token: string | undefined = installation?.configuration.oauth_credentials?.access_token; return Response.json(token);`,
    `const channel: string | undefined = spaceInstallation?.configuration.channel; return Response.json([channel, spaceInstallation?.space]);`,
    `const flat: string | number | undefined = environment.configuration?.retries; return Response.json(flat);`,
    `const region: 'eu' | 'us' | undefined = environment.configuration?.region; return Response.json([region, environment.space]);`,
    `const secret: string = secrets.CLIENT_SECRET; return Response.json(secret);`,
    `const ids: ComponentId[] = ['poll', 'a-modal']; return Response.json(ids);`,
    `const site: string | undefined = siteInstallation?.site; return Response.json(site);`,
  ];
  test('every property, secret and id in its place', async () => {
    const found = await complaints(good);
    expect(found).toEqual(good.map(() => undefined));
  });
});

test('a handler of a call has a name of the manifest, and the input that its author states', async () => {
  const code = (name: string, input: string) => `import { createIntegration } from '@annex/sdk';
export default createIntegration({ calls: { '${name}': (${input}) => ({ total: id }) } });`;
  const folder = await AuthorFolder.make({
    'platform-manifest.yaml': MANIFEST,
    'stated.ts': code('invoice.total', '{ id }: { id: string }'),
    'loose.ts': code('invoice.total', '{ id }'),
    'misspelt.ts': code('invoice.totals', '{ id }'),
  });
  expect(await folder.types()).toMatchObject({ code: 0 });
  const findings = await folder.compile();
  expect([...new Set(findings.map(({ file }) => file))]).toEqual(['misspelt.ts']);
});

describe('with its types, code that does not agree fails to compile', () => {
  const bad: readonly [statement: string, complaint: RegExp][] = [
    [
      'installation?.configuration.regoin;',
      /'regoin' does not exist.*Did you mean 'region'|'regoin' does not/,
    ],
    [`if (installation?.configuration.region === 'asia') return new Response();`, /no overlap/],
    ['const region: string = installation!.configuration.region;', /undefined.*not assignable/],
    [
      'const retries: string | undefined = installation?.configuration.retries;',
      /not assignable to type 'string/,
    ],
    [`installation?.configuration.events?.includes('other');`, /"other"' is not assignable/],
    [`installation?.configuration.events?.push('made');`, /'push' does not exist/],
    ['installation?.configuration.channel;', /'channel' does not exist/],
    ['spaceInstallation?.configuration.region;', /'region' does not exist/],
    ['siteInstallation?.configuration.region;', /'region' does not exist/],
    ['environment.configuration?.nothing;', /'nothing' does not exist/],
    ['installation?.configuration.reconnect;', /'reconnect' does not exist/],
    ['secrets.OTHER;', /'OTHER' does not exist/],
    [`secrets.CLIENT_SECRET = 'x';`, /read-only/],
    ['document.title;', /Cannot find name 'document'/],
    ['process.exit();', /Cannot find name 'process'/],
  ];
  test('each of these', async () => {
    const found = await complaints(bad.map(([statement]) => statement));
    bad.forEach(([statement, complaint], index) => {
      expect(found[index] ?? 'compiles', statement).toMatch(complaint);
    });
  });
});

test('previous configurations of events, and components, have the types of their level', async () => {
  const folder = await AuthorFolder.make({
    'platform-manifest.yaml': MANIFEST,
    'index.tsx': `
import { createComponent, createIntegration } from '@annex/sdk';
const poll = createComponent<{}, { votes: number }>({
  componentId: 'poll',
  initialState: (_props, _where, context) => ({ votes: context.environment.installation?.configuration.retries ?? 0 }),
  async render({ state }) { return <block><text>{state.votes}</text></block>; },
});
export default createIntegration({
  components: [poll],
  events: {
    installation_setup(event) { const was: 'eu' | 'us' | undefined = event.previous?.configuration.region; return was; },
    space_installation_setup(event) { const was: string | undefined = event.previous?.configuration.channel; return was; },
    space_installation_deleted: (event) => event.previous.configuration.region,
  },
});`,
  });
  await folder.types();
  const findings = await folder.compile();
  expect(findings.map(({ message }) => message)).toEqual([
    expect.stringContaining("'region' does not exist"),
  ]);
});

test('without its types, any name compiles, and a type parameter makes it stricter', async () => {
  const folder = await AuthorFolder.make({
    'platform-manifest.yaml': MANIFEST,
    'loose.ts': handler(`return Response.json([installation?.configuration.any, secrets.ANY]);`),
    'own.ts': `
import { createIntegration } from '@annex/sdk';
export default createIntegration<{ word: string }>({
  fetch: (_request, { environment }) => new Response(environment.installation?.configuration.word),
});`,
  });
  await folder.types();
  await folder.write({ 'annex-env.d.ts': '' });
  expect(await folder.compile()).toEqual([]);
});

describe('the text', () => {
  const rows: readonly [string, ConfigurationProperty, string][] = [
    ['text', { type: 'string' }, 'readonly it?: string;'],
    ['choices', { type: 'string', enum: ['a', 'b', 'a'] }, 'readonly it?: "a" | "b";'],
    [
      'several choices',
      { type: 'string', enum: ['a', 'b'], multiple: true, default: ['a', 'b'] },
      '/** Default: ["a", "b"] */\n      readonly it?: readonly ("a" | "b")[];',
    ],
    [
      'several of many choices',
      { type: 'string', enum: ['a'.repeat(60), 'b'.repeat(60)], multiple: true },
      `readonly it?: readonly (\n        | "${'a'.repeat(60)}"\n        | "${'b'.repeat(60)}"\n      )[];`,
    ],
    ['completed choices', { type: 'string', completion_url: '/c' }, 'readonly it?: string;'],
    ['a number', { type: 'number', default: 1 }, '/** Default: 1 */\n      readonly it?: number;'],
    ['a boolean', { type: 'boolean' }, 'readonly it?: boolean;'],
    ['a button, which has no value', { type: 'button', callback_url: '/b' }, 'account: {};'],
    ['a title', { type: 'string', title: 'T' }, '/** T */\n      readonly it?: string;'],
  ];
  test.each(rows)('describes %s', (_, property, line) => {
    expect(authorTypes(withProperty(property))).toContain(line);
  });

  test('quotes a name that is not an identifier, and marks optional members', () => {
    const text = authorTypes(manifestOf(MANIFEST));
    expect(text).toContain('readonly "api-key"?: string;');
    expect(text).toContain(
      '/**\n       * Region\n       *\n       * Required.\n       */\n      readonly region: "eu" | "us";',
    );
  });

  test('has no types for settings that a component draws', () => {
    const text = authorTypes({
      ...bare,
      configurations: { site: { properties: {}, required: [], componentId: 'settings' } },
    });
    expect(text).toContain('readonly [name: string]: unknown;');
    expect(text).toContain('components: "settings";');
  });

  test('is the same for the same manifest, from any source', () => {
    const again = manifestOf(MANIFEST.replaceAll('{ type: boolean }', '\n        type: boolean'));
    expect(authorTypes(again)).toBe(authorTypes(manifestOf(MANIFEST)));
  });
});

/**
 * Attack: texts of a manifest that would become code in the project where its types are generated.
 */
const SMUGGLE = 'declare global { var smuggled: string }';
const HOSTILE: readonly string[] = [
  `*/ ${SMUGGLE} /*`,
  `**/ ${SMUGGLE} /**`,
  `*\u0000/ ${SMUGGLE} /*`,
  `*\u202e/ ${SMUGGLE} /*`,
  `\n*/ ${SMUGGLE} /*`,
  `\r*/\u2028${SMUGGLE}\u2029/*`,
  `"; } } ${SMUGGLE} namespace x { const y = "`,
  `'; } } ${SMUGGLE} //`,
  `\\"; } } ${SMUGGLE} //`,
  '`$' + '{smuggled}`',
  '@ts-ignore',
  '@ts-expect-error',
  '@deprecated {@link https://e.example}',
  '/// <reference path="/etc/passwd" />',
  '\ud800 half a character',
  `${'x'.repeat(499)}*/ ${SMUGGLE} /*`,
];

describe('attack: a manifest with code for the types', () => {
  const everywhere = (text: string): TypedManifest => ({
    name: text,
    blocks: [{ id: text, title: text }],
    configurations: {
      account: {
        properties: {
          [text]: { type: 'string', title: text, description: text, enum: [text, 'other'], default: text },
          plain: { type: 'number', title: text },
          list: { type: 'string', enum: [text, 'other'], multiple: true, default: [text] },
        },
        required: [text],
      },
      site: { properties: {}, required: [], componentId: text },
    },
    secrets: { [text]: text },
  });

  test('adds no code to them, in any member', async () => {
    const folder = await AuthorFolder.make({ 'platform-manifest.yaml': HEAD });
    await folder.types();
    // One file each: in a shared file, a text that ends a comment could be closed by the next text.
    for (const [index, text] of HOSTILE.entries()) {
      const own = authorTypes(everywhere(text)).replace('ManifestTypes {', `Hostile${index} {`);
      await folder.write({ [`hostile-${index}.d.ts`]: own });
    }
    await folder.write({
      'index.ts': `
export const wanted = smuggled;
`,
    });
    const findings = await folder.compile();
    expect(findings).toEqual([
      { file: 'index.ts', line: 2, message: expect.stringContaining("Cannot find name 'smuggled'") },
    ]);
  });

  test('adds no directive of the compiler, no control sequence of a terminal, and no invisible character', () => {
    const texts = HOSTILE.map((text) => authorTypes(everywhere(text)));
    for (const text of texts) {
      const comments = text.match(/\/\*.*?\*\//gs) ?? [];
      expect(comments.join()).not.toMatch(/(?<!\\)@(ts-|deprecated|link)/);
      expect(text).not.toMatch(/[\p{Bidi_Control}\p{Zl}\p{Zp}]|[^\P{Cc}\n]/u);
      expect(text.isWellFormed()).toBe(true);
    }
  });

  test('cannot make a comment of any length', () => {
    const text = authorTypes(withProperty({ type: 'string', title: 'word '.repeat(10_000) }));
    expect(text.length).toBeLessThan(2_000);
  });
});

test('the environment that the host builds has the type that the SDK declares', () => {
  // `sdkEnvironment` adds a URL to those of the integration.
  expectTypeOf<Omit<Environment, 'integration'>>().toExtend<Omit<AuthorsEnvironment, 'integration'>>();
  type Integration<Of extends { integration: object }> = Omit<Of['integration'], 'urls'>;
  expectTypeOf<Integration<Environment>>().toExtend<Integration<AuthorsEnvironment>>();
  expectTypeOf<keyof Environment>().toEqualTypeOf<keyof AuthorsEnvironment>();
  type Members<Whole, Name extends keyof Whole> = keyof NonNullable<Whole[Name]>;
  type Theirs<Name extends keyof AuthorsEnvironment> = Members<AuthorsEnvironment, Name>;
  expectTypeOf<Members<Environment, 'integration'>>().toEqualTypeOf<Theirs<'integration'>>();
  expectTypeOf<Members<Environment, 'installation'>>().toEqualTypeOf<Theirs<'installation'>>();
  expectTypeOf<Members<Environment, 'spaceInstallation'>>().toEqualTypeOf<Theirs<'spaceInstallation'>>();
  expectTypeOf<Members<Environment, 'siteInstallation'>>().toEqualTypeOf<Theirs<'siteInstallation'>>();
});
