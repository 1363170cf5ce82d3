/**
 * The modules of Node.js, as an integration gets them: which file carries a module, which modules
 * throw when they are used, and which are refused at publish.
 *
 * A package of npm often imports a module for a feature that code over `fetch` never calls. Modules
 * without which a client still works throw at their first use; a module of files, sockets or
 * processes is refused, unless its package is known to need it for such a feature alone, or the
 * upload says so by `"browser": {"net": false}` in its own `package.json`.
 */
import { posix } from 'node:path';
import { browserReplacement } from './package-entry.ts';

/** Module → file among the sources of `node-source.ts`. */
const CARRIED: Readonly<Record<string, string>> = {
  assert: 'node/assert.ts',
  'assert/strict': 'node/assert-strict.ts',
  async_hooks: 'node/async-hooks.ts',
  buffer: 'node/buffer.ts',
  console: 'node/console.ts',
  constants: 'node-tables/constants.json',
  crypto: 'node/crypto.ts',
  diagnostics_channel: 'node/diagnostics-channel.ts',
  events: 'node/events.ts',
  os: 'node/os.ts',
  path: 'node/path.ts',
  'path/posix': 'node/path.ts',
  'path/win32': 'node/path-win32.ts',
  perf_hooks: 'node/perf-hooks.ts',
  process: 'node/process.ts',
  punycode: 'node/punycode.ts',
  querystring: 'node/querystring.ts',
  readline: 'node/readline.ts',
  'readline/promises': 'node/readline-promises.ts',
  stream: 'node/stream.ts',
  'stream/consumers': 'node/stream-consumers.ts',
  'stream/promises': 'node/stream-promises.ts',
  'stream/web': 'node/stream-web.ts',
  string_decoder: 'node/string-decoder.ts',
  sys: 'node/util.ts',
  timers: 'node/timers.ts',
  'timers/promises': 'node/timers-promises.ts',
  tty: 'node/tty.ts',
  url: 'node/url.ts',
  util: 'node/util.ts',
  'util/types': 'node/types.ts',
  zlib: 'node/zlib.ts',
};

/** Modules that throw at their first use. */
const THROWING = words('domain http http2 https inspector module trace_events v8');

/** Modules without which the importing code cannot do its work. */
const REFUSED = words(
  'child_process cluster dgram dns dns/promises fs fs/promises net repl sqlite tls vm wasi worker_threads',
);

/** The files that carry modules. */
export const CARRYING_FILES: readonly string[] = Object.values(CARRIED);

/** The file of asynchronous contexts, for which each `await` of a bundle is followed. */
export const ASYNC_HOOKS = CARRIED['async_hooks'] ?? '';

/**
 * Much-used packages → the refused modules that they import for features which an integration does
 * without: files given by their path, proxies of the process, credentials of a machine.
 */
const OPTIONAL: Readonly<Record<string, ReadonlySet<string>>> = {
  '@anthropic-ai/sdk': words('fs fs/promises'),
  '@sendgrid/helpers': words('fs'),
  '@slack/web-api': words('fs'),
  'agent-base': words('net tls'),
  debug: words('net tls'),
  dotenv: words('fs'),
  ejs: words('fs'),
  'fetch-blob': words('fs fs/promises'),
  'form-data': words('fs'),
  'formdata-node': words('fs fs/promises'),
  gaxios: words('fs'),
  'google-auth-library': words('child_process fs'),
  handlebars: words('fs'),
  'http-proxy-agent': words('net tls'),
  'https-proxy-agent': words('net tls'),
  'node-fetch': words('fs fs/promises net'),
  openai: words('fs fs/promises child_process'),
  'proxy-agent': words('net tls dns'),
  'socks-proxy-agent': words('net tls dns'),
  'source-map': words('fs'),
  stripe: words('child_process'),
  superagent: words('fs'),
  twilio: words('fs'),
};

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

/** How a bundle gets a module of Node.js. */
export type NodeModule =
  /** A file among the sources of `node-source.ts`. */
  | { readonly file: string }
  /** A module that throws when it is used; `refused` where its presence in a bundle is an error. */
  | { readonly absent: string; readonly refused: boolean };

/**
 * The name of the module that a specifier means, without `node:` and the slash that some packages
 * write at its end; undefined where it means a package.
 */
export function nodeModuleNamed(specifier: string): string | undefined {
  const explicit = specifier.startsWith('node:');
  const name = specifier.slice(explicit ? 'node:'.length : 0).replace(/\/$/, '');
  if (Object.hasOwn(CARRIED, name)) return name;
  // Attack: `node:net allowed`, a name that says what is decided here (`absent-modules.ts`).
  if (explicit) return /^[\w/]+$/.test(name) ? name : undefined;
  return THROWING.has(name) || REFUSED.has(name) ? name : undefined;
}

/**
 * @param name of a module of Node.js
 * @param user the importing package; undefined for the upload's own files
 * @param manifest the `package.json` at the root of the upload
 */
export function nodeModule(name: string, user: string | undefined, manifest: unknown): NodeModule {
  if (Object.hasOwn(CARRIED, name)) return { file: CARRIED[name] as string };
  if (THROWING.has(name)) return { absent: name, refused: false };
  const known = user !== undefined && Object.hasOwn(OPTIONAL, user) && OPTIONAL[user]?.has(name) === true;
  const spellings = [name, `node:${name}`];
  const declared = spellings.some((spelling) => browserReplacement(manifest, spelling) === false);
  return { absent: name, refused: !known && !declared };
}

/**
 * The file that an import in a carrying file means; undefined for other packages.
 *
 * A module of Node.js is what an import of it in an upload would get: `readable-stream` is written
 * over `events`, `buffer` and `process/`.
 */
export function carryingFile(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('.')) {
    const path = posix.join(posix.dirname(importer), specifier);
    return posix.extname(path) === '' ? `${path}.js` : path;
  }
  if (specifier.startsWith('node-tables/')) return specifier;
  if (specifier === 'pako') return 'node_modules/pako/dist/pako.mjs';
  if (specifier === 'punycode') return 'node_modules/punycode/punycode.es6.js';
  if (specifier === 'node-inspect-extracted') return `node_modules/${specifier}/dist/inspect.js`;
  if (/^(?:@noble\/(?:ciphers|curves|hashes)|readable-stream)\//.test(specifier))
    return `node_modules/${specifier}`;
  return CARRIED[nodeModuleNamed(specifier) ?? ''];
}

/** What only code writes for which a timer is an object of Node.js. */
const TIMER_OBJECT =
  /\.(?:unref|hasRef|refresh|_repeat|_onTimeout|_idleTimeout)\b|Symbol\.toPrimitive|\bclear(?:Timeout|Interval)\(this\b|['"](?:node:)?timers['"]/;

/**
 * Whether code of the upload asks a timer for `unref` or its kind. A timer of the web platform is a
 * number, and stays one in every other script.
 */
export const takesTimersForObjects = (upload: ReadonlyMap<string, Uint8Array>): boolean =>
  upload.values().some((bytes) => {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!text.includes('setTimeout') && !text.includes('setInterval')) return false;
    return TIMER_OBJECT.test(text.toString('latin1'));
  });

/** The package that a file of the upload belongs to; undefined for the upload's own files. */
export function packageNameOf(path: string): string | undefined {
  const folders = path.split('/');
  const [scope, name] = folders.slice(folders.lastIndexOf('node_modules') + 1);
  if (!folders.includes('node_modules')) return undefined;
  return scope?.startsWith('@') ? `${scope}/${name}` : scope;
}
