/** Stack traces name the author's file and line, whatever the text around them. */
import { expect, test } from 'vitest';
import { SOURCE_MAP_BYTES_MAX } from '../../../src/host/bundle/bundle-result.ts';
import { createStackMapper } from '../../../src/host/bundle/source-map.ts';
import { bundled, uploaded } from '../../support/bundle/uploaded.ts';
import { cpuMs } from '../../support/measure/cpu-time.ts';

const URL_OF_SCRIPT = 'annex:script.js';

async function build(files: Record<string, string>, entry: string) {
  const result = await bundled(uploaded(files), entry);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const mapper = createStackMapper(result.map, URL_OF_SCRIPT);
  /** Position of a piece of the script, as V8 would print it. */
  const at = (piece: string) => {
    const before = result.script.slice(0, result.script.indexOf(piece)).split('\n');
    return `${URL_OF_SCRIPT}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  };
  return { mapper, at, map: result.map };
}

const FILES = {
  'src/index.ts': 'import { fail } from "./lib/fail.ts";\n\n  export default () => fail("a");\n',
  'src/lib/fail.ts':
    'type Unused = 1;\n\nexport function fail(message: string) {\n  throw new Error(message);\n}\n',
};

test('every position of a stack trace is rewritten', async () => {
  const { mapper, at } = await build(FILES, 'src/index.ts');
  const stack = `Error: a\n    at fail (${at('new Error')})\n    at ${at('fail("a")')}\n    at Module.evaluate (other.js:1:2)`;
  expect(mapper(stack)).toBe(
    'Error: a\n    at fail (src/lib/fail.ts:4:9)\n    at src/index.ts:3:24\n    at Module.evaluate (other.js:1:2)',
  );
});

test('frames of the SDK carry its package name', async () => {
  const code = 'import { createIntegration } from "@annex/sdk"; export default createIntegration({});';
  const { mapper, at } = await build({ 'index.ts': code }, 'index.ts');
  expect(mapper(at('createIntegration: expects') ?? '')).not.toBe('');
  expect(mapper(`at ${at('function createIntegration')}`)).toMatch(
    /^at @annex\/sdk\/integration\.ts:\d+:\d+$/,
  );
});

// Attack: dense code that throws, published many times over, makes the host decode maps until its
// heap is full.
test('a map of the largest size is kept, and a larger one is left out with a warning', async () => {
  const line = 'f(a=>{({b:[1,2,3].map(x=>x+1)})});\n';
  const dense = async (lines: number) => {
    const files = uploaded({ 'index.js': `export default (f) => {\n${line.repeat(lines)}}` });
    const result = await bundled(files, 'index.js');
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return result;
  };
  const position = `${URL_OF_SCRIPT}:2:500`;
  const few = await dense(100);
  const perLine = ((await dense(200)).map.length - few.map.length) / 100;
  const most = 100 + Math.floor((SOURCE_MAP_BYTES_MAX - few.map.length) / perLine);
  const kept = await dense(most);
  expect(kept.warnings).toEqual([]);
  expect(kept.map.length).toBeLessThanOrEqual(SOURCE_MAP_BYTES_MAX);
  expect(kept.map.length).toBeGreaterThan(SOURCE_MAP_BYTES_MAX - 2 * perLine);
  expect(createStackMapper(kept.map, URL_OF_SCRIPT)(position)).not.toBe(position);
  const leftOut = await dense(most + 2);
  expect(leftOut.warnings).toMatchObject([
    { severity: 'warning', message: expect.stringContaining('lines of the bundle') },
  ]);
  expect(createStackMapper(leftOut.map, URL_OF_SCRIPT)(position)).toBe(position);
});

test("no source text is in the map, nor any of the host's paths", async () => {
  const { map } = await build(FILES, 'src/index.ts');
  const { sources, sourcesContent } = JSON.parse(map);
  // The last one is our own line around the entry.
  expect(sources).toEqual(['src/index.ts', 'src/lib/fail.ts', 'frame:frame']);
  expect(sourcesContent ?? []).not.toContainEqual(expect.any(String));
});

test.each([
  ['a line comment', (url: string) => `//# sourceMappingURL=${url}`],
  ['an old comment', (url: string) => `//@ sourceMappingURL=${url}`],
  ['a block comment', (url: string) => `/*# sourceMappingURL=${url} */`],
  ['several', (url: string) => `//# sourceMappingURL=${url}\n//# sourceMappingURL=${url}\n`],
])('a map that the upload brings along in %s is ignored', async (_, comment) => {
  const forged = { version: 3, sources: ['/etc/passwd'], names: [], mappings: 'AAAA;AACA;AACA' };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(forged)).toString('base64')}`;
  const { mapper, at, map } = await build(
    { 'index.js': `export default () => { throw 1 };\n${comment(url)}` },
    'index.js',
  );
  expect(map).not.toContain('passwd');
  expect(mapper(at('throw 1'))).toBe('index.js:1:24');
});

test('a string that looks like such a comment is left as it is', async () => {
  const code = 'export default "//# sourceMappingURL=data:application/json,{}";';
  const result = await bundled(uploaded({ 'index.js': code }), 'index.js');
  expect(result).toMatchObject({
    ok: true,
    script: expect.stringContaining('"//# sourceMappingURL=data:application/json,{}"'),
  });
});

test('fifty positions are rewritten and the fifty-first is not', async () => {
  const { mapper, at } = await build(FILES, 'src/index.ts');
  const position = at('new Error');
  const rewritten = mapper(`${position}\n`.repeat(60)).split('\n');
  expect(rewritten.filter((line) => line === 'src/lib/fail.ts:4:9')).toHaveLength(50);
  expect(rewritten.slice(50, 60)).toEqual(Array(10).fill(position));
});

test.each([
  `${URL_OF_SCRIPT}:0:0`,
  `${URL_OF_SCRIPT}:-1:1`,
  `${URL_OF_SCRIPT}:1`,
  `${URL_OF_SCRIPT}:1:`,
  `${URL_OF_SCRIPT}:999999:1`,
  `${URL_OF_SCRIPT}:1:99999999999999999999`,
  `${URL_OF_SCRIPT}:99999999999:99999999999`,
  'annexXscript.js:1:1',
  '\u0000\ud800',
  '$&$1',
])('%j is left as it is', async (text) => {
  const { mapper } = await build({ 'index.js': '' }, 'index.js');
  expect(mapper(text)).toBe(text);
});

// A row of the database that was damaged or altered. The text is written where nothing catches what
// is thrown: it would end the host, at each call that throws.
test.each([
  ['nothing', ''],
  ['half of it', '{"version":3,'],
  ['null', 'null'],
  ['a number', '5'],
  ['no mappings', '{"version":3,"sources":["a"],"names":[]}'],
  ['mappings of another type', '{"version":3,"sources":["a"],"names":[],"mappings":{}}'],
  ['mappings that are no digits', '{"version":3,"sources":["a"],"names":[],"mappings":"\u0000é~;;,"}'],
  ['sources of another type', '{"version":3,"sources":7,"names":[],"mappings":"AAAA"}'],
  ['a source that is none', '{"version":3,"sources":[{}],"names":[],"mappings":"AAAA"}'],
  ['an index beyond the sources', '{"version":3,"sources":[],"names":[],"mappings":"AgggggB"}'],
  ['nothing but brackets', '['.repeat(100_000)],
])('a stored map that is %s throws nothing, and the text stays', (_, map) => {
  const mapper = createStackMapper(map, URL_OF_SCRIPT);
  const text = `Error: a\n    at ${URL_OF_SCRIPT}:1:1`;
  expect([mapper(text), mapper(text)].map((mapped) => mapped.slice(0, 8))).toEqual(['Error: a', 'Error: a']);
});

test('a megabyte of almost-positions takes no more time than reading it', async () => {
  const { mapper } = await build(FILES, 'src/index.ts');
  const text = `${URL_OF_SCRIPT}:1:`.repeat(60_000) + '1'.repeat(100_000);
  expect(cpuMs(() => void mapper(text))).toBeLessThan(500);
});
