/**
 * The manifest: which ones are accepted, and that all problems are reported together, each with its
 * line.
 */
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../../src/limits.ts';
import { initialInstallation } from '../../../../src/model/installation.ts';
import { policyHeader } from '../../../../src/model/manifest/content-security-policy.ts';
import { parseManifest } from '../../../../src/model/manifest/manifest.ts';
import { missingSecret, resolveSecrets } from '../../../../src/model/manifest/secrets.ts';
import { YAML_BYTES_MAX } from '../../../../src/model/manifest/yaml-source.ts';
import { nearest } from '../../../../src/model/spelling-hint.ts';
import { manifestYaml, parsed } from '../../../support/store/temporary-store.ts';

/** Errors as `line:column message`. */
function errorsOf(yaml: string): string[] {
  const result = parseManifest(yaml);
  if (result.ok) return [];
  return result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

describe('a manifest', () => {
  test('with the required fields is accepted without a warning', () => {
    const { manifest, warnings } = parsed(manifestYaml());
    expect(manifest).toMatchObject({ name: 'hello', organization: 'acme', visibility: 'public', scopes: [] });
    expect(warnings).toEqual([]);
  });

  test('lists every missing field at once', () => {
    const messages = errorsOf('title: Hello\n').join('\n');
    for (const field of ['name', 'description', 'organization', 'scopes']) {
      expect(messages).toContain(`"${field}" is required.`);
    }
    expect(messages).not.toContain('"title"');
  });

  test('names the line and the column of each problem', () => {
    const yaml = manifestYaml(
      { name: 'Bad Name' },
      'blocks:\n  - id: one\n    title: 7\n  - id: one\n    title: Two\n',
    );
    expect(errorsOf(yaml)).toEqual([
      expect.stringMatching(/^1:7 "name" must be letters and digits/),
      '9:12 "blocks[0].title" must be text, not a number.',
      '10:9 The block "one" is there twice.',
    ]);
  });

  test('names the line of a problem after text that is not YAML', () => {
    const yaml = '- a list\ntext: >-\n  folded\n  lines\nname: hello\n';
    expect(errorsOf(yaml).map((problem) => problem.split(' ', 1)[0])).toContain('5:1');
  });

  test('warns of an unknown key at its line, and suggests the key that was probably meant', () => {
    const { warnings } = parsed(manifestYaml({}, 'categorys: [other]'));
    expect(warnings).toMatchObject([
      { severity: 'warning', line: 7, column: 1, hint: 'Did you mean "categories"?' },
    ]);
  });

  test.each(['a', 'a-b', 'a1-2b', 'a'.repeat(63)])('may be named %s', (name) => {
    expect(errorsOf(manifestYaml({ name }))).toEqual([]);
  });

  test.each(['-a', 'a-', 'a--b', 'a_b', 'a.b', 'a'.repeat(64), '"a\\n"'])('may not be named %s', (name) => {
    expect(errorsOf(manifestYaml({ name }))).toHaveLength(1);
  });

  test('with capitals in its name is stored so, with a warning', () => {
    const { manifest, warnings } = parsed(manifestYaml({ name: 'GitHub' }));
    expect(manifest.name).toBe('GitHub');
    expect(warnings).toMatchObject([{ severity: 'warning', line: 1, hint: 'Write it in lower case.' }]);
  });

  test('without a visibility is private', () => {
    const yaml = manifestYaml().replace('visibility: public\n', '');
    expect(parsed(yaml).manifest.visibility).toBe('private');
  });

  test('has keys of other spellings read as those that are meant', () => {
    const { manifest, warnings } = parsed(manifestYaml({}, 'preview_images: [a.png]\nExternal-Links: []'));
    expect(manifest.previewImages).toEqual(['a.png']);
    expect(warnings.map(({ line, message }) => `${line} ${message}`)).toEqual([
      '7 "preview_images" is read as "previewImages".',
      '8 "External-Links" is read as "externalLinks".',
    ]);
  });

  test('takes a summary of 2,048 characters and refuses one of 2,049', () => {
    expect(errorsOf(manifestYaml({}, `summary: ${'x'.repeat(2_048)}`))).toEqual([]);
    expect(errorsOf(manifestYaml({}, `summary: ${'x'.repeat(2_049)}`))).toHaveLength(1);
  });

  test('leaves out what a setting cannot be, and says where', () => {
    const configurations = `configurations:
  account:
    properties:
      count: {type: number, title: Count, default: many}
    required: [county]`;
    const { manifest, warnings } = parsed(manifestYaml({}, configurations));
    expect(warnings.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      '10:52 "configurations.account.properties.count.default" must be a number; it is ignored.',
      '11:16 "configurations.account.required[0]" names no property that is declared: "county" is ignored.',
    ]);
    expect(manifest.configurations.account).toEqual({
      properties: { count: { type: 'number', title: 'Count' } },
      required: [],
    });
  });

  test('reads choices and defaults of other types as what must be meant', () => {
    const account = (property: string) => {
      const configurations = `configurations: {account: {properties: {a: {${property}}}, required: [a]}}`;
      return parsed(manifestYaml({}, configurations)).manifest.configurations.account;
    };
    expect(account('type: string, enum: [1, "", true, a], default: 1')?.properties['a']).toMatchObject({
      enum: ['1', '', 'true', 'a'],
      default: '1',
    });
    expect(account('type: boolean, default: "true"')?.properties['a']).toMatchObject({ default: true });
    expect(account('type: integer, default: "5"')?.properties['a']).toEqual({ type: 'number', default: 5 });
    // A type that is not known: any value is kept, and nothing is required.
    expect(account('type: colour, default: red')).toEqual({ properties: {}, required: [] });
  });

  test('keeps numbers in the place of text as they are written', () => {
    const configurations = `configurations:
  account:
    properties:
      python: {type: string, enum: [3.9, 3.10, 3.20, 0047, 01, +47, 0x1F, 1e3, TRUE, 12345678901234567890], default: 3.10}
      code: {default: 0047, type: string}
      count: {type: number, default: 3.10}
      again: {type: string, enum: [&a 1.0, *a, 1]}`;
    const { manifest, warnings } = parsed(manifestYaml({}, configurations));
    expect(manifest.configurations.account?.properties).toEqual({
      python: {
        type: 'string',
        enum: ['3.9', '3.10', '3.20', '0047', '01', '+47', '0x1F', '1e3', 'TRUE', '12345678901234567890'],
        default: '3.10',
      },
      code: { type: 'string', default: '0047' },
      count: { type: 'number', default: 3.1 },
      again: { type: 'string', enum: ['1.0', '1'] },
    });
    expect(warnings.map(({ message }) => message)).toContain(
      '"configurations.account.properties.python.enum[1]" is read as the text "3.10".',
    );
    // In an environment, too, and in the name of a key.
    const chosen = parseManifest(
      manifestYaml({}, 'envs: {default: {configurations: {account: {properties: {a: {enum: [2.0]}}}}}}'),
    );
    expect(chosen).toMatchObject({
      manifest: { configurations: { account: { properties: { a: { enum: ['2.0'] } } } } },
    });
    expect(errorsOf(manifestYaml({}, 'secrets: {0047: x}'))[0]).toMatch(/^7:17 The name of a secret/);
    expect(errorsOf(manifestYaml({}, '3.10: a\n3.1: b\n'))).toEqual([]);
  });

  // Attack: one long number and thousands of aliases of it.
  test('counts the text of a number for each alias', () => {
    const list = `a: &a ${'0'.repeat(30_000)}1\nb: [${'*a, '.repeat(900)}*a]`;
    expect(errorsOf(manifestYaml({}, list))).toEqual([
      expect.stringContaining('more than 262144 characters'),
    ]);
  });

  test('keeps its content sources', () => {
    const source = '{id: pages, title: Pages, icon: ./a.png, configuration: {componentId: settings}}';
    const { manifest, warnings } = parsed(manifestYaml({}, `contentSources: [${source}]`));
    expect(warnings).toEqual([]);
    expect(manifest.contentSources).toEqual([
      { id: 'pages', title: 'Pages', icon: 'a.png', configuration: { componentId: 'settings' } },
    ]);
    expect(parsed(manifestYaml()).manifest).not.toHaveProperty('contentSources');
  });

  test('names its images by the paths of the uploaded files', () => {
    const { manifest } = parsed(manifestYaml({}, 'icon: ./icon.png\npreviewImages: [a/one.png]'));
    expect(manifest).toMatchObject({ icon: 'icon.png', previewImages: ['a/one.png'] });
  });
});

describe('a content security policy', () => {
  const policyOf = (yaml: string) => {
    const { contentSecurityPolicy } = parsed(manifestYaml({}, `contentSecurityPolicy: ${yaml}`)).manifest;
    return policyHeader(contentSecurityPolicy ?? '');
  };

  test.each([
    [`|\n  default-src 'none';\n  img-src https:;\n`, `default-src 'none'; img-src https:;`],
    [`|\n  default-src 'none'\n  img-src https:\n    data:\n`, `default-src 'none'; img-src https: data:`],
    [`{default-src: "'none';", img-src: "a, b"}`, `default-src 'none'; img-src a b`],
    [`{img-src: "a; script-src b; what c"}`, 'img-src a; script-src b'],
    ['{script-src: "b", img-src: "a; script-src *"}', 'script-src b; img-src a'],
    ['{img-src: |\n    a\n    b\n  }', undefined],
    ['{script-src: [a, b], upgrade-insecure-requests: true}', 'script-src a b; upgrade-insecure-requests'],
    // Attack: header injection.
    ['"default-src a\\r\\nset-cookie: a=b\\r\\n\\r\\n<script>"', 'default-src a set-cookie: a=b <script>'],
  ])('in any form is one line: %s', (yaml, header) => {
    if (header === undefined) return expect(() => policyOf(yaml)).toThrow();
    expect(policyOf(yaml)).toBe(header);
    expect(policyOf(yaml)).toMatch(/^[ -~]*$/);
  });
});

describe('the environments of a manifest', () => {
  const ENVS = `secrets: {KEY: one}
envs:
  default: {title: By default}
  test:
    organization: acme-test
    visibility: unlisted
    secrets: {TEST_KEY: two}
  wrong: {visibility: everywhere}`;
  const read = (environment?: string) =>
    parseManifest(manifestYaml({}, ENVS), environment === undefined ? {} : { environment });

  test('replace members as a whole where one is chosen, and the default one where none is', () => {
    expect(read('test')).toMatchObject({
      ok: true,
      warnings: [],
      manifest: {
        name: 'hello',
        title: 'hello title',
        organization: 'acme-test',
        visibility: 'unlisted',
        secrets: { TEST_KEY: 'two' },
      },
    });
    expect(read()).toMatchObject({ manifest: { title: 'By default', secrets: { KEY: 'one' } } });
  });

  test('have their problems at their own lines', () => {
    expect(read('wrong')).toMatchObject({ ok: false, problems: [{ line: 14, column: 23 }] });
  });

  test.each(['toString', 'live', '__proto__'])('have to be declared: %s is not', (name) => {
    expect(read(name)).toMatchObject({
      ok: false,
      problems: [
        {
          message: `The manifest has no environment "${name}".`,
          hint: 'Its environments are "default", "test", "wrong".',
        },
      ],
    });
  });
});

describe('a fault of syntax is named in the words of an author:', () => {
  test.each([
    ['a second document', 'name: a\n---\nname: b\n', '2:1 A second document begins here; a manifest is one.'],
    ['text behind an end', 'name: a\n...\nname: b\n', '3:1 A second document begins here'],
    ['a value with a colon', 'name: a\ntitle: b: c\n', '2:8 The value has a colon and a space in it'],
    ['a quoted key as a value', 'title: "b": c\n', '1:8 The value has a colon and a space in it'],
    ['a value that ends with a colon', 'title: b:\n', '1:8 The value has a colon and a space in it'],
    ['a colon in a flow', 'a: {b: c: d}\n', '1:8 The value has a colon and a space in it'],
    ['a line too far to the right', 'name: a\n title: b\n', '2:2 This line is indented below a key'],
    ['a key without a colon', 'name: a\ntitle\n', '2:1 A key has a colon and a space behind it'],
    ['a colon without a space', 'name:a\ntitle: b\n', '1:1 A key has a colon and a space behind it'],
    ['an open double quote', 'name: a\ntitle: "b\nscopes: []\n', '2:8 The quote that opens here (")'],
    ['an open single quote', "name: a\ntitle: 'b\nscopes: []\n", "2:8 The quote that opens here (')"],
    ['one that a later quote closes', 'title: "b\nname: "a"\n', '1:8 The quote that opens here (")'],
    ['one that a quote in the value closes', 'title: "b\n  name: "a"\n', '1:8 The quote that opens here (")'],
    ['one with an escaped end', 'title: "b\\"\nname: a\n', '1:8 The quote that opens here (")'],
    ['one behind another fault', 'a: b: c\ntitle: "b\nname: a\n', '1:4 The value has a colon'],
    ['one in a list', 'a:\n  - "x\n  - y\n', '2:5 The quote that opens here (")'],
    ['one in a flow', 'a: ["x, y]\nb: c\n', '1:5 The quote that opens here (")'],
    ['an apostrophe', "title: 'it's fine'\nname: a\n", '1:12 Unexpected scalar at node end.'],
    ['a reserved character', 'title: @b\n', '1:8 Plain value cannot start with reserved character @.'],
    ['a merge key', 'a: &a {b: c}\nd: {<<: *a}\n', '2:5 Merge keys ("<<") are not read.'],
    ['a quoted merge key', '"<<": {}\n', '1:1 Merge keys ("<<") are not read.'],
    [
      'a space of no width in a key',
      'na\u200bme: a\n',
      '1:3 The key "name" has an invisible character in it: U+200B.',
    ],
    [
      'a no-break space before a key',
      '\u00a0title: a\n',
      '1:1 The key "title" has an invisible character in it: U+00A0.',
    ],
    [
      'a soft hyphen',
      'a: {ti\u00adtle: b}\n',
      '1:7 The key "title" has an invisible character in it: U+00AD.',
    ],
    ['a mark of order in the middle', 'name: a\n\ufefftitle: b\n', 'U+FEFF'],
    ['a change of direction', '"\u202ename": a\n', 'U+202E'],
  ])('%s', (_, yaml, message) => {
    const errors = errorsOf(yaml);
    expect(errors[0]).toContain(message);
    expect(errors.join(' ')).not.toMatch(/YAML\.|compact|implicit/i);
  });

  test('but text over several lines in quotes, and a mark of order at the beginning, are read', () => {
    const yaml = manifestYaml({}, 'summary: "one\n  two"\n');
    expect(errorsOf(`\ufeff${yaml}`)).toEqual([]);
    expect(parsed(`\ufeff${yaml}`).manifest).toMatchObject({ name: 'hello', summary: 'one two' });
    expect(errorsOf(`${yaml}categories: {a: b: c}\n`)[0]).toMatch(/^9:17 The value has a colon/);
  });

  // A value may be a secret.
  test('without the text of a value', () => {
    for (const yaml of [
      'secrets:\n  A: hidden: more\n',
      'secrets:\n  A: "hidden\n  B: c\n',
      'a: hidden\n---\nhidden',
    ]) {
      const { problems } = parseManifest(yaml) as { problems: readonly object[] };
      expect(JSON.stringify(problems)).not.toContain('hidden');
    }
  });
});

describe('hostile YAML', () => {
  test('that is not YAML, or not a map, is a problem and no exception', () => {
    expect(errorsOf('a: b: c')[0]).toMatch(/^1:/);
    expect(errorsOf('[1, 2]')[0]).toContain('The manifest must be a map');
    expect(errorsOf('')[0]).toContain('The manifest must be a map');
    expect(errorsOf('a: 1\n---\nb: 2')).toHaveLength(1);
  });

  test('a duplicate key is reported at its line', () => {
    expect(errorsOf(manifestYaml({}, 'name: other'))).toEqual(['7:1 The key "name" is there twice.']);
  });

  test('an alias bomb ends at the bound on values', () => {
    const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i += 1)
      bomb.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(errorsOf(bomb.join('\n'))).toEqual([expect.stringContaining('more than 10000 values')]);
  });

  test('an alias that contains itself ends at the bound on depth', () => {
    expect(errorsOf('a: &a [*a]')).toEqual([expect.stringContaining('nested more than 32 deep')]);
  });

  test('an alias without an anchor is a problem', () => {
    expect(errorsOf('a: *nothing')).toHaveLength(1);
  });

  test('nesting that would overflow the stack is a problem', () => {
    expect(errorsOf('['.repeat(30_000)).length).toBeGreaterThan(0);
  });

  test('"__proto__" is refused as a key', () => {
    expect(errorsOf(manifestYaml({}, '__proto__: {polluted: true}'))).toEqual([
      '7:1 "__proto__" cannot be a key.',
    ]);
  });

  test('a file of 64 KiB is read, one byte more is not', () => {
    const filled = (bytes: number) => {
      const yaml = manifestYaml({}, '#');
      return yaml + '#'.repeat(bytes - yaml.length);
    };
    expect(errorsOf(filled(YAML_BYTES_MAX))).toEqual([]);
    expect(errorsOf(filled(YAML_BYTES_MAX + 1))).toEqual(['1:1 The file is over 65536 bytes.']);
  });

  test('ten thousand duplicate keys do not make an answer of ten thousand problems', () => {
    expect(errorsOf('a: 1\n'.repeat(9_000)).length).toBeLessThanOrEqual(50);
  });
});

describe('secrets', () => {
  const limits = DEFAULT_LIMITS;
  const resolve = (secrets: string, values: Record<string, string> = {}, bounds = limits) => {
    const { manifest, placeOf } = parsed(manifestYaml({}, `secrets:\n${secrets}`));
    return resolveSecrets({ manifest, placeOf, values: new Map(Object.entries(values)), limits: bounds });
  };
  const expression = (variable: string) => `\${{ env.${variable} }}`;

  test('come from the upload before the manifest', () => {
    const { secrets, problems } = resolve(`  A: ${expression('A')}\n  B: written\n  C: written`, {
      A: 'given',
      C: 'given',
    });
    expect(problems).toEqual([]);
    expect([...secrets]).toEqual([
      ['A', 'given'],
      ['B', 'written'],
      ['C', 'given'],
    ]);
  });

  test('left unresolved or empty are unsent: an earlier publish may have stored them', () => {
    const open = `  TOKEN: ${expression('API_TOKEN')}\n  A: ""\n  B: written`;
    for (const values of [{}, { TOKEN: '', A: '' }])
      expect(resolve(open, values)).toMatchObject({ problems: [], unsent: ['TOKEN', 'A'] });
    expect(resolve('  A: written', { A: '' })).toMatchObject({ problems: [], unsent: ['A'] });
  });

  test('without any value are named with their variable', () => {
    const place = { file: 'm.yaml', line: 8, column: 1 };
    expect(missingSecret('TOKEN', expression('API_TOKEN'), place)).toMatchObject({
      ...place,
      message: 'The secret "TOKEN" needs the variable "API_TOKEN", which has no value.',
    });
    expect(missingSecret('A', '', place)).toMatchObject({ message: 'The secret "A" is empty.' });
  });

  test.each([['secrets.TOKEN'], ["env.TOKEN || 'x'"], ['env.A-B'], ["format('{0}', env.TOKEN)"], ['']])(
    'of the expression %s have the value that is sent or stored, with a warning',
    (text) => {
      const written = `  TOKEN: "\${{ ${text} }}"`;
      const warned = [
        { severity: 'warning', line: 8, message: expect.stringContaining('is not a variable') },
      ];
      const sent = resolve(written, { TOKEN: 'sent' });
      expect(sent).toMatchObject({ problems: warned, unsent: [] });
      expect([...sent.secrets]).toEqual([['TOKEN', 'sent']]);
      expect(resolve(written)).toMatchObject({ problems: warned, unsent: ['TOKEN'] });
      const place = { file: 'm.yaml', line: 8, column: 1 };
      expect(missingSecret('TOKEN', `\${{ ${text} }}`, place)).toMatchObject({
        severity: 'error',
        message: 'The secret "TOKEN" has no value, and its expression names none.',
      });
    },
  );

  test('that the manifest does not declare are refused by name', () => {
    expect(resolve('  TOKEN: x', { TOKENS: 'y' }).problems).toMatchObject([
      { message: 'The manifest declares no secret "TOKENS".', hint: 'Did you mean "TOKEN"?' },
    ]);
  });

  test('are accepted up to the limits of number and size, and not beyond', () => {
    const named = (count: number) => Array.from({ length: count }, (_, index) => `  S${index}: x`).join('\n');
    expect(resolve(named(limits.secretsPerIntegration)).problems).toEqual([]);
    expect(resolve(named(limits.secretsPerIntegration + 1)).problems).toHaveLength(1);
    expect(resolve('  A: x', { A: 'é'.repeat(limits.secretBytes / 2) }).problems).toEqual([]);
    expect(resolve('  A: x', { A: 'é'.repeat(limits.secretBytes / 2 + 1) }).problems).toHaveLength(1);
  });

  test('whose value is not text are refused at their line', () => {
    expect(errorsOf(manifestYaml({}, 'secrets:\n  A: 12'))).toEqual(['8:6 The secret "A" must be text.']);
  });
});

describe('a new installation', () => {
  const initial = (account: string) =>
    initialInstallation(
      parsed(manifestYaml({}, `configurations:\n  account: ${account}`)).manifest,
      'organization',
    );

  test('is active if no property is required', () => {
    expect(initialInstallation(parsed(manifestYaml()).manifest, 'organization')).toEqual({
      configuration: {},
      status: 'active',
    });
    expect(initial('{properties: {a: {type: string}}}').status).toBe('active');
    expect(initial('{componentId: settings}').status).toBe('active');
  });

  test('is pending while a required property has no value', () => {
    expect(initial('{properties: {a: {type: string}}, required: [a]}').status).toBe('pending');
  });

  test('starts with the defaults, which may complete it', () => {
    expect(initial('{properties: {a: {type: boolean, default: false}}, required: [a]}')).toEqual({
      configuration: { a: false },
      status: 'active',
    });
  });
});

test('a key with two wrong letters gets a suggestion, another word does not', () => {
  expect(nearest('visibilty', ['visibility', 'scopes'])).toBe('visibility');
  expect(nearest('banana', ['visibility', 'scopes'])).toBeUndefined();
});
