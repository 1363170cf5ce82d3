/**
 * The exports of the modules of Node.js that bundles carry, compared by name and kind with those of
 * the Node.js that runs the tests: a package that imports a name finds it, and what cannot work in
 * an isolate throws at its use.
 */
import { execFile } from 'node:child_process';
import { builtinModules } from 'node:module';
import { devNull } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeModule } from '../../../src/imports/node-modules.ts';
import { TestService } from '../../support/service.ts';

/** Name → kind: what `typeof` says, and `null`. */
type Kinds = Readonly<Record<string, string>>;
/** Module → the names that an `import` finds, and the members of its default export. */
type Modules = Readonly<Record<string, { readonly exported: Kinds; readonly members: Kinds }>>;

const CARRIED = builtinModules.filter(
  (name) => !name.startsWith('_') && 'file' in nodeModule(name, undefined, {}),
);

/** Modules that throw when they are used, but for members of their own. */
const ABSENT = builtinModules.filter((name) => {
  const found = nodeModule(name, undefined, {});
  return !name.startsWith('_') && 'absent' in found && !found.refused;
});
const MODULES = [...CARRIED, ...ABSENT];

/** Functions that Node.js 23 removed from `util`, and that packages of npm still use. */
const OLD = `
    +isBoolean +isBuffer +isDate +isError +isFunction +isNull +isNullOrUndefined +isNumber +isObject
    +isPrimitive +isRegExp +isString +isSymbol +isUndefined +log`;

/**
 * Where a module differs from that of Node.js, as an import or as a member of the default export:
 * `-name` is missing, `+name` is more, `~name` is of another kind.
 */
const DIFFERENCES: Readonly<Record<string, string>> = {
  process: '+browser +process',
  sys: OLD,
  util: OLD,
  domain: '~_stack ~active',
  inspector: '~DOMStorage ~Network ~NetworkResources ~console',
  http2: '~constants',
  v8: '~promiseHooks ~startupSnapshot',
};

/** Functions that cannot work in an isolate: each throws at its use, by its name. */
const THROWING: Readonly<Record<string, string>> = {
  console: 'context',
  crypto: `
    Certificate X509Certificate argon2 argon2Sync createMac decapsulate encapsulate parsePKCS12 secureHeapUsed
    setEngine setFips`,
  readline: 'emitKeypressEvents',
  perf_hooks: 'createSlidingWindowHistogram importHistogram',
  http: 'ClientRequest IncomingMessage OutgoingMessage Server ServerResponse createServer get request',
  https: 'Server createServer get request',
  http2: 'Http2ServerRequest connect createSecureServer createServer getDefaultSettings',
  module: 'Module findPackageJSON register runMain syncBuiltinESMExports',
  v8: 'GCProfiler getHeapSnapshot getHeapStatistics serialize deserialize',
  zlib: `
    ZipBuffer ZipEntry ZipFile ZstdCompress ZstdDecompress createZipArchive createZipArchiveSync
    createZstdCompress createZstdDecompress getMaxZipContentSize setMaxZipContentSize zipFiles
    zstdCompress zstdCompressSync zstdDecompress zstdDecompressSync`,
  path: 'matchesGlob',
  process: 'abort binding dlopen execve exit loadEnvFile openStdin reallyExit',
  util: 'debounce setTraceSigInt throttle',
};

/** Module → name → what its use throws. */
type Thrown = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Code for Node.js and for an isolate: all modules, and what they have. */
const LOOK = `
  ${MODULES.map((name, at) => `import * as m${at} from 'node:${name}';`).join('\n')}
  const all = { ${MODULES.map((name, at) => `'${name}': m${at}`).join(', ')} };
  const mapped = (entries, value) => Object.fromEntries(entries.map((entry) => [entry[0], value(entry)]));
  const kindOf = (value) => (value === null ? 'null' : typeof value);
  const kindsOf = (members, names = Object.keys(members)) => mapped(names.map((name) => [name]), ([name]) => kindOf(members[name]));
  const look = (asked = {}) => mapped(Object.entries(all), ([module, exported]) =>
    ({ exported: kindsOf(exported, asked[module]), members: kindsOf(exported.default, asked[module]) }));`;

const run = promisify(execFile);
const words = (text: string): string[] => text.trim().split(/\s+/).filter(Boolean);

let annex: TestService;
let [theirs, ours]: [Modules, Modules] = [{}, {}];
let thrown: Thrown = {};
beforeAll(async () => {
  annex = await TestService.start();
  // A process of its own: that of the tests has a channel to its parent.
  const code = encodeURIComponent(`${LOOK} console.log(JSON.stringify(look()));`);
  const { stdout } = await run(process.execPath, ['--import', `data:text/javascript,${code}`, devNull]);
  theirs = JSON.parse(stdout) as Modules;
  // A module that is absent has a member of every name, and lists none.
  const asked = Object.fromEntries(ABSENT.map((name) => [name, Object.keys(theirs[name]?.members ?? {})]));
  const throwing = Object.entries(THROWING).map(([name, members]) => [name, words(members)]);
  const script = `${LOOK}
    const thrownBy = (use) => { try { use(); return 'nothing'; } catch ({ code, message }) { return code + ': ' + message; } };
    export default { fetch: () => Response.json([look(${JSON.stringify(asked)}), mapped(${JSON.stringify(throwing)}, ([name, members]) =>
      mapped(members.map((member) => [member]), ([member]) => thrownBy(() => all[name].default[member]()))),
    ]) };`;
  await annex.publish('exports', { 'index.js': script });
  const { endpoint } = await annex.install('exports');
  [ours, thrown] = (await (await fetch(`${endpoint}/x`)).json()) as [Modules, Thrown];
});
afterAll(() => annex.stop());

/** A word for each member that differs. */
const differences = (one: Kinds = {}, other: Kinds = {}): string[] =>
  Object.keys({ ...one, ...other })
    .filter((name) => one[name] !== other[name])
    .map((name) => `${one[name] === undefined ? '-' : other[name] === undefined ? '+' : '~'}${name}`);

test.each(MODULES)('%s has the exports of Node.js', (name) => {
  const sides = ABSENT.includes(name) ? (['members'] as const) : (['exported', 'members'] as const);
  const found = sides.flatMap((side) => differences(ours[name]?.[side], theirs[name]?.[side]));
  expect(Object.keys(theirs[name]?.members ?? {})).not.toEqual([]);
  expect([...new Set(found)].sort()).toEqual(words(DIFFERENCES[name] ?? ''));
});

test.each(Object.keys(THROWING))('what cannot work of %s throws at its use, by its name', (name) => {
  expect(Object.keys(thrown[name] ?? {})).toEqual(words(THROWING[name] ?? ''));
  for (const [member, message] of Object.entries(thrown[name] ?? {})) {
    const named = `ERR_FEATURE_UNAVAILABLE_ON_PLATFORM: ${name}.${member} of Node.js does not exist`;
    expect(message.slice(0, named.length)).toBe(named);
  }
});
