/**
 * The sources that carry the modules of Node.js into bundles: `sandbox/node/`, and the files of npm
 * packages that they use.
 *
 * Read once, when the host starts, as the SDK is (`sdk-source.ts`): bundling an upload reads
 * nothing from the host's disk.
 */
import { constants as buffer } from 'node:buffer';
import { constants as crypto, getCipherInfo, getCiphers, getHashes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { METHODS, STATUS_CODES } from 'node:http';
import { builtinModules, createRequire, findPackageJSON } from 'node:module';
import { constants as os } from 'node:os';
import { pathToFileURL } from 'node:url';
import { getSystemErrorMap } from 'node:util';
import { constants as zlib } from 'node:zlib';
import { CARRYING_FILES, carryingFile } from '../../imports/node-modules.ts';
import { prebuilt } from '../../own-files.ts';

const OWN = new URL('../../../sandbox/node/', import.meta.url);
/** An import by a fixed text, as the built files of the packages have it. */
const IMPORT = /(?:from |import |\brequire\()['"]([^'"]+)['"]/g;

/** The ciphers of `sandbox/node/crypto-cipher.ts`. */
const CIPHERS =
  /^(?:(?:id-)?aes-?(?:128|192|256)(?:-(?:cbc|cfb|ctr|ecb|gcm|ofb|wrap|wrap-pad))?|chacha20(?:-poly1305)?)$/;

/**
 * Tables of the Node.js that runs, each a file `node-tables/….json`: numbers and names that would
 * be copied by hand.
 */
const TABLES: Readonly<Record<string, object>> = {
  buffer,
  // The last member is there only once `node:tls` was loaded.
  constants: { ...createRequire(import.meta.url)('node:constants'), defaultCipherList: undefined },
  ciphers: Object.fromEntries(
    getCiphers()
      .filter((name) => CIPHERS.test(name))
      .map((name) => [name, getCipherInfo(name)]),
  ),
  crypto,
  hashes: getHashes(),
  'http-methods': METHODS,
  'http-status': STATUS_CODES,
  modules: builtinModules,
  os,
  'system-errors': Object.fromEntries(getSystemErrorMap()),
  zlib,
};

/** Path → source: `node/crypto.ts`, `node_modules/@noble/hashes/sha2.js`. */
export const NODE_SOURCE: ReadonlyMap<string, string> = carried() ?? readSources();

/** What the npm package carries in the place of the folder and of those packages. */
function carried(): ReadonlyMap<string, string> | undefined {
  const text = prebuilt('nodeSource');
  return text === undefined ? undefined : new Map(Object.entries(JSON.parse(text) as Record<string, string>));
}

function readSources(): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  const own = readdirSync(OWN).filter((name) => /(?<!\.d)\.ts$/.test(name));
  for (const [name, table] of Object.entries(TABLES)) {
    sources.set(`node-tables/${name}.json`, JSON.stringify(table));
  }
  sources.set('node-tables/brotli.json', readFileSync(new URL('brotli-tables.json', OWN), 'utf8'));
  for (const path of [...own.map((name) => `node/${name}`), ...CARRYING_FILES]) add(sources, path);
  return sources;
}

/** Adds a file and, if it belongs to a package, what it imports; own files are all there. */
function add(sources: Map<string, string>, path: string): void {
  if (sources.has(path)) return;
  const text = readFileSync(locate(path), 'utf8');
  const source = path.includes('/@noble/') ? withoutComments(text) : text;
  sources.set(path, source);
  for (const [, specifier = ''] of source.matchAll(IMPORT)) {
    const file = carryingFile(specifier, path);
    // An own file is there, or only in a comment.
    if (file?.startsWith('node_modules/')) add(sources, file);
  }
}

/** Comments that begin a line are half of these libraries, and each upload is sent them. */
function withoutComments(text: string): string {
  let isInside = false;
  const lines = text.split('\n').filter((line) => {
    const wasInside = isInside || /^ *\/\*\*/.test(line);
    isInside = wasInside && !line.includes('*/');
    return !wasInside && !/^ *\/\//.test(line);
  });
  return lines.join('\n');
}

function locate(path: string): URL {
  const [, name, rest] = /^node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(path) ?? [];
  if (name === undefined || rest === undefined) return new URL(path.replace(/^node\//, ''), OWN);
  const manifest = findPackageJSON(name, import.meta.url);
  if (manifest === undefined) throw new Error(`The package ${name} is not installed.`);
  return new URL(rest, pathToFileURL(manifest));
}
