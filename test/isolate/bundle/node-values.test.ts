/**
 * Values of modules of Node.js in an isolate: each expression comes to what it comes to in the
 * Node.js that runs the tests, or throws the same error with the same code and message.
 */
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestService } from '../../support/service.ts';

/** Expressions by the module that they are about. */
const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  path: [
    ...['posix', 'win32'].flatMap((flavour) => [
      ...[
        '',
        '.',
        '/a/../b',
        'a//b/./c/..',
        '../../a',
        'C:\\a\\..\\b',
        'c:a',
        '\\\\server\\share\\x',
        'nul:',
        'a/../C:/b',
      ].map((path) => `path.${flavour}.normalize(${JSON.stringify(path)})`),
      ...['', 'a', '/a/b/', '//a', 'C:\\', 'C:\\a\\b.c', '.a', 'a.b.', '\\\\s\\t\\u'].flatMap((path) => [
        `path.${flavour}.parse(${JSON.stringify(path)})`,
        `path.${flavour}.dirname(${JSON.stringify(path)})`,
        `path.${flavour}.basename(${JSON.stringify(path)}, '.c')`,
        `path.${flavour}.toNamespacedPath(${JSON.stringify(path.replace(/^\/?[a.].*|^$/, 'C:\\a'))})`,
      ]),
      `path.${flavour}.join('a', '..', '/b', 'c\\\\d')`,
      `path.${flavour}.resolve('/a', 'b', '../c')`,
      `path.${flavour}.relative('/a/b/c', '/a/d')`,
      `path.${flavour}.relative('C:\\\\A\\\\b', 'c:\\\\a\\\\d')`,
      `path.${flavour}.format({ dir: '/a', name: 'b', ext: 'c' })`,
      `path.${flavour}.isAbsolute('C:/a')`,
    ]),
    'path.join(5)',
    "path.basename('a', null)",
    'path.format(null)',
    "path.resolve('/a', {})",
    "[require('path/win32').sep, require('path/posix').sep, path.posix === path]",
  ],
  querystring: [
    "qs.parse('a=1&a=2&b&=c&d=%E4%BD%A0+x&e=%zz%41')",
    "qs.parse('a:1;b:2', ';', ':')",
    "qs.parse('a=1&b=2&c=3', null, null, { maxKeys: 2 })",
    "qs.parse('a=%41', null, null, { decodeURIComponent: (text) => text + '!' })",
    'Object.getPrototypeOf(qs.parse())',
    "qs.stringify({ a: [1, 'x y', null], b: 5n, c: true, d: {}, e: 1e21 }, ';', ':')",
    "[qs.escape('é&'), qs.unescape('%41%zz'), String(qs.unescapeBuffer('a%62'))]",
    "qs.escape('\\ud800')",
  ],
  url: [
    ...[
      'http://u:p@HOST:80/a b?x=1#y',
      '//a/b',
      'mailto:a@b',
      'javascript:a',
      '/p?q',
      'http://a.com:x',
      'http://é.com',
      'x',
    ].flatMap((text) => [
      `({ ...url.parse(${JSON.stringify(text)}, true, true) })`,
      `url.format(${JSON.stringify(text)})`,
      `url.resolve('http://a.com/b/c/d?e#f', ${JSON.stringify(text)})`,
      `url.resolve(${JSON.stringify(text)}, '../g?h')`,
    ]),
    "url.format({ protocol: 'https', hostname: '::1', port: 80, pathname: 'a?#', query: { a: [1, 2] } })",
    "url.format(new URL('http://u:p@xn--9ca.com/a?b#c'), { unicode: true, auth: false, fragment: false, search: false })",
    "url.fileURLToPath('file:///a%20b/%E4%BD%A0')",
    "url.fileURLToPath('file:///C:/a/b', { windows: true })",
    "url.fileURLToPath('file://server/a', { windows: true })",
    ...['http://a', 'file:///a%2fb', 'x'].map((text) => `url.fileURLToPath('${text}')`),
    'url.fileURLToPath({})',
    "url.pathToFileURL('/a b/%?#\\\\').href",
    "url.pathToFileURL('\\\\\\\\s\\\\t\\\\u', { windows: true }).href",
    "url.urlToHttpOptions(new URL('http://u:p@[::1]:8/a?b#c'))",
    "[url.domainToASCII('español.com'), url.domainToUnicode('xn--espaol-zwa.com'), url.domainToASCII('a b')]",
    'url.parse(5)',
    'url.format(5)',
    "url.parse('http://a b.com@x:y/')",
    "((error) => [error.code, error.name])((() => { try { new URL('x'); } catch (error) { return error; } })())",
    "new URLSearchParams().append('a')",
    'new URLSearchParams().has()',
    ...['get', 'forEach', 'keys', 'toString'].map((method) => `URLSearchParams.prototype.${method}.call(5)`),
    "new URLSearchParams('a=1').entries().next.call({})",
    'codeOf(() => URL.canParse())',
    'codeOf(() => new URLSearchParams().forEach(5))',
  ],
  events: [
    "((e) => warned('MaxListenersExceededWarning', () => { e.setMaxListeners(1); e.on('a', () => {}); e.on('a', () => {}); }).then((w) => [w.message, w.emitter === e, w.count, w.type]))(new events())",
    "((heard) => { const e = new events(); for (const name of ['a', 'b']) e.on(name, () => {}); e.on('removeListener', (name) => heard.push(['first', name])); e.on('removeListener', (name) => heard.push(['second', name])); e.removeAllListeners(); return heard; })([])",
  ],
  timers: [
    'codeOf(() => timers.setTimeout(() => {}, 1).unref.call({}))',
    'codeOf(() => globalThis.setTimeout())',
    '((times) => new Promise((done) => { const timer = timers.setTimeout(() => { times += 1; if (times === 2) { clearInterval(timer); done(times); } timer._repeat = 1; }, 1); }))(0)',
  ],
  string_decoder: [
    "((d) => [d.write(Buffer.from('f69b', 'hex')), d.lastNeed, d.write(Buffer.from('d1', 'hex')), d.end(), d.write(Buffer.from('eda0', 'hex')), d.write(Buffer.from('41')), d.end()])(new StringDecoder())",
    "((d) => [d.write(Buffer.from('e1', 'hex')), [...d.lastChar], d.lastNeed, d.lastTotal, d.end(), d.lastNeed])(new StringDecoder())",
  ],
  encoding: [
    ...['utf-8', 'utf-16le', 'utf-16be'].map(
      (encoding) => `new TextDecoder('${encoding}', { fatal: true }).decode(new Uint8Array([0xff]))`,
    ),
    "codeOf(() => new TextDecoder('none'))",
    'codeOf(() => new TextDecoder().decode(5))',
  ],
  readline: [
    "read(['a\\nb', '\\r', '\\nc\\u2028d\\r', 'e\\n\\n', 'f'])",
    "read([Buffer.from('c3', 'hex'), Buffer.from('a9', 'hex')])",
    "read(['a\\nb\\nc\\n'], (line, lines) => line === 'b' && lines.close())",
    "(async (found) => { for await (const line of readline.createInterface({ input: Readable.from(['a\\nb', '\\nc']) })) found.push(line); return found; })([])",
    "(async (input, written) => { const lines = promises.createInterface({ input, output: { write: (text) => written.push(text) } }); const asked = lines.question('who? '); input.write('me\\n'); const answer = await asked; lines.setPrompt('$ '); lines.prompt(); lines.close(); return [answer, written, await lines.question('a').catch(({ code }) => code)]; })(new PassThrough(), [])",
    "promises.createInterface({ input: new PassThrough() }).question('a', { signal: AbortSignal.abort() }).catch(({ code, message }) => [code, message])",
    ...[
      'clearLine(o, -1)',
      'clearScreenDown(o)',
      'cursorTo(o, 1, 2)',
      'cursorTo(o, 3)',
      'moveCursor(o, -1, 2)',
    ].map(
      (use) =>
        `((text) => { const o = { write: (part) => { text += part; return true; } }; return [readline.${use}, text]; })('')`,
    ),
    'readline.cursorTo({}, NaN)',
    "readline.cursorTo({ write() {} }, 'a', 1)",
    'readline.clearLine({}, 1, 5)',
    '((text) => { const cursor = new promises.Readline(new PassThrough().on("data", (part) => { text += part; })); return cursor.cursorTo(1, 2).clearLine(0).moveCursor(0, 1).commit().then(() => text); })("")',
    'new promises.Readline({})',
    ...['escapeCodeTimeout: "5"', 'tabSize: 0', 'history: 5', 'historySize: -1', 'completer: 5'].map(
      (option) => `readline.createInterface({ input: new PassThrough(), ${option} })`,
    ),
    'readline.Interface({ input: new PassThrough() }) instanceof readline.Interface',
    '((l) => [l.terminal, l.line, l.crlfDelay, l.getPrompt(), l.columns > 1e9, l instanceof events])(readline.createInterface({ input: new PassThrough(), prompt: "p" }))',
  ],
  crypto: [
    "require('crypto').generatePrimeSync(256, { safe: true }).byteLength",
    "((ecdh, other) => { ecdh.generateKeys(); ecdh.setPublicKey(other); return ecdh.computeSecret(other); })(require('crypto').createECDH('secp256k1'), require('crypto').createECDH('secp256k1').generateKeys())",
    "String(((error) => { try { require('crypto').createECDH('secp256k1').getPublicKey(); } catch (thrown) { error = thrown; } return error; })())",
    "require('crypto').createECDH('secp256k1').computeSecret(require('crypto').createECDH('secp256k1').generateKeys())",
    "require('crypto').hkdfSync('unknown', 'a', '', Buffer.alloc(1025), 10)",
    "require('crypto').ECDH.convertKey('02', 'secp256k1', 'hex')",
    "((names) => names.map((name) => [name, typeof require('crypto')[name], Object.keys(require('crypto')).includes(name)]))(['rng', 'prng', 'pseudoRandomBytes'])",
  ],
  perf_hooks: [
    "util.inspect(require('perf_hooks').createHistogram(), { depth: -1 })",
    "new (require('perf_hooks').createHistogram().constructor)()",
  ],
  util: [
    'util.inspect({ a: 1, b: { c: { d: {} } }, [Symbol("s")]: [1, , 3], f() {}, get g() {} })',
    "[new Map([['k', 1]]), new Set([1]), 10n, Symbol('x'), new (class Foo { a = 1; })(), new Uint8Array(2), -0, new Error('x').message, /a/g].map((value) => util.inspect(value))",
    "util.inspect({ [Symbol.for('nodejs.util.inspect.custom')]: (depth, options, inspect) => [depth, typeof options.stylize, inspect === util.inspect] })",
    "util.inspect('a'.repeat(200) + \"'\", { maxStringLength: 9 })",
    'util.inspect([3, 2, 1], { compact: false, sorted: true, colors: true })',
    'util.inspect(Object.create(null, { x: { value: 1 } }), { showHidden: true })',
    'util.inspect(new Proxy({ a: 1 }, { get: () => 5 }), { showProxy: true })',
    'util.inspect(new Proxy([1], { get() { throw new Error("trap"); } }))',
    '((a) => { a.self = a; return util.inspect(a); })({})',
    "util.inspect([new Date(0), new Date(NaN), Object(1), Object('a'), Object(Symbol('b')), [undefined, null]])",
    "util.inspect([new URL('http://u:p@a.com/b?c#d'), new URLSearchParams('a=1&b=2')], { depth: 1 })",
    'util.inspect(123456789.12345, { numericSeparator: true })',
    'util.inspect(class A extends Map {})',
    'util.inspect(new Array(200).fill(7), { maxArrayLength: 3, breakLength: 20 })',
    "util.format('%i %f %d %s %j %o %O %c!%% %x', '4.9', '1.5', 5n, {}, { a: 1 }, { a: 1 }, [2], 'css', 'more')",
    "util.format('%s', null, Symbol('a'), -0, class B {}, { toString: () => 'own' })",
    "util.formatWithOptions({ colors: true }, '%O', { a: 1 })",
    ...[
      '[new Set([1, 2]), new Set([2, 1])]',
      '[Object(1), Object(2)]',
      '[{ a: 1, b: NaN }, { b: NaN, a: 1 }]',
      '[[1, , 2], [1, undefined, 2]]',
      '[0, -0]',
      '[new Map([[{}, 1]]), new Map([[{}, 1]])]',
      "[new Error('a', { cause: 1 }), new Error('a')]",
      '[new Date(0), new Date(1)]',
      '[/a/g, /a/i]',
      '[new Uint8Array([1]), new Uint8Array([1])]',
      '[Object.create(null), {}]',
      "[{ [Symbol.for('a')]: 1 }, {}]",
      '[new WeakMap(), new WeakMap()]',
      '((a, b) => { a.x = a; b.x = b; return [a, b]; })({}, {})',
    ].map((pair) => `util.isDeepStrictEqual(...${pair})`),
    'util.types.isProxy(new Proxy({}, {}))',
    ...[
      'isMap',
      'isSet',
      'isDate',
      'isRegExp',
      'isPromise',
      'isTypedArray',
      'isBoxedPrimitive',
      'isGeneratorObject',
      'isAsyncFunction',
      'isNativeError',
      'isArgumentsObject',
      'isMapIterator',
      'isAnyArrayBuffer',
      'isWeakSet',
      'isProxy',
    ].map(
      (name) =>
        `[new Map(), new Set(), new Date(), /a/, Promise.resolve(), new Uint8Array(), Object(1n), (function* () {})(), async () => {}, new Error(), (function () { return arguments; })(), new Map().keys(), new ArrayBuffer(), new WeakSet(), {}, null, 5, Object.create(Map.prototype)].map(util.types.${name})`,
    ),
    "util.parseArgs({ args: ['-abf', 'x', '--no-c', '--d=1', '--d', '2', 'p', '--', '-q'], allowNegative: true, allowPositionals: true, tokens: true, options: { a: { type: 'boolean', short: 'a' }, b: { type: 'boolean', short: 'b' }, file: { type: 'string', short: 'f' }, c: { type: 'boolean' }, d: { type: 'string', multiple: true }, e: { type: 'string', default: 'z' } } })",
    "util.parseArgs({ args: ['--x'] })",
    "util.parseArgs({ args: ['--x'], allowPositionals: true, options: {} })",
    "util.parseArgs({ args: ['p'] })",
    "util.parseArgs({ args: ['-x', '-y'], options: { x: { type: 'string', short: 'x' } } })",
    "util.parseArgs({ args: ['--x'], options: { x: { type: 'string', short: 'x' } } })",
    "util.parseArgs({ args: ['--x=1'], options: { x: { type: 'boolean' } } })",
    "util.parseArgs({ options: { x: { type: 'number' } } })",
    "util.parseArgs({ options: { x: { type: 'string', short: 'ab' } } })",
    'String(new util.MIMEType(\'Text/HTML ; charset="a b"; x=1; x=2; y\'))',
    "new util.MIMEType('text')",
    "new util.MIMEType('text/html').params.set('a b', '')",
    '[util.getSystemErrorName(-2), util.getSystemErrorMessage(-13), util.getSystemErrorMap().get(-17)]',
    'util.getSystemErrorName(2)',
    "util.getSystemErrorName('a')",
    "util.styleText(['red', 'bold'], 'a', { validateStream: false })",
    "util.styleText('nonsense', 'a')",
    "util.stripVTControlCharacters('\\u001b[31ma\\u001b[0m')",
    "util.toUSVString('a\\ud800')",
    "util.parseEnv('A=1\\nexport B = \" x\\\\ny \" # c\\nC=\\'a\\nb\\'\\n#D=1\\nE=a # b')",
    "util.diff('abcd', 'axcd')",
    'util.inherits(class {}, undefined)',
    'util.promisify(5)',
    'util.callbackify(5)',
    "util.deprecate(() => 1, 'm', 5)",
    "util.promisify(setTimeout)(1, 'slept')",
    "util.promisify(timers.setTimeout)(1, 'slept')",
    "util.promisify(timers.setImmediate)('soon')",
    'util.promisify(setTimeout) === require("timers/promises").setTimeout',
    '[timers.setTimeout.name, timers.setTimeout.length, timers.setImmediate.name]',
    'util.promisify((value, done) => done(null, value + 1))(1)',
    'new Promise((resolve) => util.callbackify(async () => { throw null; })((error) => resolve([error.code, error.message, error.reason])))',
    'util.aborted({}, {})',
    "[util._errnoException(-2, 'open', 'f').message, util._extend({ a: 1 }, { b: 2 })]",
    "util.convertProcessSignalToExitCode('SIGTERM')",
  ],
  assert: [
    'assert.strictEqual(1, 2)',
    "assert.strictEqual('hello world', 'hello_world')",
    "assert.strictEqual('a'.repeat(50), 'b')",
    'assert.strictEqual({}, {})',
    'assert.strictEqual(-0, 0)',
    'assert.strictEqual(1)',
    "assert.strictEqual(1, 2, 'own message')",
    "assert.deepStrictEqual({ a: 1 }, { a: 2 }, 'own message')",
    "assert.strictEqual(1, 2, new RangeError('own error'))",
    'assert.equal(1, 2)',
    "assert.equal(1, '1')",
    'assert.deepEqual({ a: 1 }, { a: 2 })',
    "assert.deepEqual([1, new Map([[1, { a: '1' }]])], ['1', new Map([[1, { a: 1 }]])])",
    'assert.deepStrictEqual({ a: { b: [1, 2, 3] } }, { a: { b: [1, 2, 4] } })',
    'assert.deepStrictEqual(Array.from({ length: 60 }, (_, n) => n), [1])',
    'assert.deepStrictEqual(Array.from({ length: 30 }, (_, n) => n), Array.from({ length: 31 }, (_, n) => n))',
    'assert.deepStrictEqual(new Set([1, { a: 1 }]), new Set([{ a: 2 }, 1]))',
    'assert.deepStrictEqual([1, 2, [[[[]]]]], [1, 2, [[[[3]]]]])',
    'assert.notDeepStrictEqual({ a: 1 }, { a: 1 })',
    'assert.notStrictEqual(1, 1)',
    'assert.notDeepEqual([1], [1])',
    'assert.partialDeepStrictEqual({ a: 1, b: 2 }, { a: 1 })',
    'assert.partialDeepStrictEqual({ a: 1 }, { a: 2 })',
    'assert.fail()',
    "assert.fail('why')",
    'assert.throws(() => {})',
    "assert.throws(() => { throw new Error('x'); }, /y/)",
    "assert.throws(() => { throw new Error('x'); }, { message: 'y', name: 'Error' })",
    "assert.throws(() => { throw new Error('x'); }, TypeError)",
    "assert.throws(() => { throw new Error('x'); }, () => false)",
    "assert.throws(() => { throw new Error('x'); }, 'x')",
    "assert.throws(() => { throw new Error('x'); }, {})",
    "assert.throws('x')",
    "assert.doesNotThrow(() => { throw new Error('x'); })",
    'assert.rejects(Promise.resolve(1))',
    'assert.rejects(() => 5)',
    "assert.rejects(Promise.reject(new Error('x')), { message: 'x' })",
    "assert.doesNotReject(Promise.reject(new Error('x')))",
    "assert.match('a', /b/)",
    'assert.match(5, /b/)',
    "assert.doesNotMatch('a', /a/)",
    "assert.ifError(new Error('x'))",
    'assert.ifError(null)',
    'assert()',
    'assert.strict.equal(1, true)',
    "((error) => [String(error), error.operator, error.generatedMessage, Object.keys(error)])(new assert.AssertionError({ actual: 1, expected: 2, operator: 'x' }))",
    'new assert.AssertionError(5)',
    'new assert.Assert({ strict: false }).deepEqual(1, 2)',
  ],
  process: [
    'process.hrtime(5)',
    'process.hrtime([1])',
    'process.nextTick(5)',
    'process.emitWarning(5)',
    "process.emitWarning('a', 5)",
    "process.kill('a')",
    'process.kill(Infinity)',
    "process.kill(0, 'SIGNONE')",
    'process.chdir(5)',
    'process.setuid({})',
    'process.cpuUsage(5)',
    'process.cpuUsage({ user: -1, system: 1 })',
    'process.umask({})',
    "process.umask('9')",
    'process.setUncaughtExceptionCaptureCallback(5)',
    "((env) => { env.A = 5; env.B = undefined; const out = [env.A, env.B, 'C' in env, delete env.C]; delete env.A; delete env.B; return out; })(process.env)",
    "Object.defineProperty(process.env, 'A', { get: () => 1 })",
    "Object.defineProperty(process.env, 'A', { value: 1 })",
    "process.env[Symbol('a')] = 1",
    'process.env.A = Symbol()',
    'String(process)',
    'process instanceof events',
    "((heard) => { process.on('own', (value) => heard.push(value)); const had = process.emit('own', 1); process.removeAllListeners('own'); return [heard, had, process.emit('own'), process.listenerCount('own')]; })([])",
    "warned('Own', () => process.emitWarning('a', 'Own', 'OWN1')).then(({ message, code }) => [message, code])",
    "warned('DeprecationWarning', () => util.deprecate(() => {}, 'old', 'OLD1')()).then(({ message, code }) => [message, code])",
  ],
  console: [
    ...[
      "c.log('%s is %d', 'a', 5, { b: 1 })",
      "c.group('g'); c.warn('a\\nb'); c.groupEnd(); c.error('end')",
      "c.count(); c.count('x'); c.countReset(); c.count(); c.countReset('none')",
      'c.table([{ a: 1, b: "x" }, { a: 2, c: [1, 2] }, 5])',
      "c.table(new Map([['k', { v: 1 }]]))",
      'c.table(new Set([1])); c.table(5); c.table([[1, 2], [3]], [1])',
      "c.assert(false, 'no %s', 'x'); c.assert(true); c.assert(0)",
      'c.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 })',
      "c.timeEnd('none'); c.timeLog('none')",
    ].map(
      (use) =>
        `(() => { const lines = []; const c = new Console({ write: (text) => lines.push(text), once() {}, listenerCount: () => 0, removeListener() {} }); ${use}; return lines; })()`,
    ),
    'new Console()',
    'new Console({ stdout: { write() {} }, colorMode: 5 })',
    'Console({ write() {} }) instanceof Console',
  ],
  os: [
    'Object.keys(os.constants)',
    'os.constants.signals.SIGTERM',
    '[os.cpus().length > 0, Object.keys(os.cpus()[0].times)]',
    'os.getPriority(NaN)',
    "os.setPriority('a')",
    'os.setPriority(0, 50)',
    "((o) => { 'use strict'; o.EOL = 5; })(os)",
  ],
  punycode: [
    "['mañana', '☃-⌘'].map((text) => [punycode.encode(text), punycode.decode(punycode.encode(text))])",
  ],
};

const CODE = `
  'use strict';
  const { Console } = require('console');
  const timers = require('timers');
  const [events, readline, promises, { Readable, PassThrough }, { StringDecoder }] =
    [require('events'), require('readline'), require('readline/promises'), require('stream'), require('string_decoder')];
  const codeOf = (use) => { try { return typeof use(); } catch ({ name, code }) { return [name, code]; } };
  // Modules of Node.js warn of themselves in between.
  const warned = (name, use) => new Promise((done) => {
    const hear = (warning) => {
      if (warning.name !== name || warning.code?.startsWith('DEP')) return;
      process.removeListener('warning', hear);
      done(warning);
    };
    process.on('warning', hear);
    use();
  });
  const read = (pieces, then = () => {}) => new Promise((done) => {
    const found = [];
    const lines = readline.createInterface({ input: Readable.from(pieces), crlfDelay: Infinity });
    lines.on('line', (line) => { found.push(line); then(line, lines); });
    lines.on('close', () => done(found));
  });
  const [assert, os, path, punycode, qs, url, util, process] =
    [require('assert'), require('os'), require('path'), require('punycode'), require('querystring'), require('url'), require('util'), require('process')];
  const plain = (value) => JSON.stringify(value, (_, one) => typeof one === 'bigint' ? one + 'n' : one) ?? String(value);
  const outcome = async (use) => {
    try { return plain(await use()); }
    catch ({ name, code, message }) { return [name, code, message].join(' | '); }
  };
  const all = { ${Object.entries(EXPRESSIONS)
    .map(([name, list]) => `${JSON.stringify(name)}: [${list.map((one) => `() => ${one}`).join(',\n')}]`)
    .join(',\n')} };
  const outcomes = async () => {
    const found = {};
    for (const [name, uses] of Object.entries(all)) {
      found[name] = [];
      for (const use of uses) found[name].push(await outcome(use));
    }
    return found;
  };`;

type Outcomes = Readonly<Record<string, readonly string[]>>;

let annex: TestService;
let [theirs, ours]: [Outcomes, Outcomes] = [{}, {}];
beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('values', {
    'index.js': `${CODE} export default { fetch: async () => Response.json(await outcomes()) };`,
  });
  const { endpoint } = await annex.install('values');
  ours = (await (await fetch(`${endpoint}/x`)).json()) as Outcomes;
  const run = new Function('require', `${CODE} return outcomes();`);
  theirs = (await run(createRequire(import.meta.url))) as Outcomes;
});
afterAll(() => annex.stop());

test.each(Object.keys(EXPRESSIONS))('%s comes to what it comes to in Node.js', (name) => {
  const words = (all: readonly string[] = []) =>
    EXPRESSIONS[name]
      ?.map((one, at) => `${one} => ${all[at]}`)
      .filter((_, at) => ours[name]?.[at] !== theirs[name]?.[at]);
  expect(ours[name]).toHaveLength(EXPRESSIONS[name]?.length ?? 0);
  expect(words(ours[name])).toEqual(words(theirs[name]));
});
