/**
 * Modules and names of Node.js in a bundle: what works, what throws when it is used, what is
 * refused, and that code without them pays nothing.
 */
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createStackMapper } from '../../../src/host/bundle/source-map.ts';
import { bundled, evaluate, runScript, scriptOf, uploaded } from '../../support/bundle/uploaded.ts';

const refused = async (files: Record<string, string>) => {
  const result = await bundled(uploaded(files), 'index.ts');
  if (result.ok) throw new Error('was bundled');
  return result.problems;
};

describe('a module of Node.js', () => {
  test('has bytes in all encodings', async () => {
    const code = `
      import { Buffer } from 'node:buffer';
      const bytes = Buffer.from('größer ?>', 'utf8');
      export default ['hex', 'base64', 'base64url', 'latin1'].map((encoding) => {
        const text = bytes.toString(encoding);
        return [text, Buffer.from(text, encoding).equals(bytes)];
      });`;
    const bytes = Buffer.from('größer ?>', 'utf8');
    expect(await evaluate({ 'index.ts': code })).toEqual(
      (['hex', 'base64', 'base64url', 'latin1'] as const).map((encoding) => [bytes.toString(encoding), true]),
    );
  });

  test('hashes, derives keys and compares without waiting, as Node.js does', async () => {
    const code = `
      import { createHash, createHmac, pbkdf2Sync, randomBytes, randomInt, timingSafeEqual } from 'crypto';
      const hash = createHash('sha256').update('a').update(Buffer.from('b'));
      const copy = hash.copy().digest('base64');
      export default {
        md5: createHash('md5').update('ab').digest('hex'),
        parts: [hash.digest('base64') === copy, copy],
        hmac: createHmac('sha512', 'key').update('größer').digest('hex'),
        derived: pbkdf2Sync('password', 'salt', 10, 20, 'sha1').toString('hex'),
        random: randomBytes(70_000).length,
        drawn: Array.from({ length: 100 }, () => randomInt(3, 5)).every((n) => n === 3 || n === 4),
        equal: [timingSafeEqual(Buffer.from('a'), Buffer.from('a')), timingSafeEqual(Buffer.from('a'), Buffer.from('b'))],
      };`;
    expect(await evaluate({ 'index.ts': code })).toEqual({
      md5: createHash('md5').update('ab').digest('hex'),
      parts: [true, createHash('sha256').update('ab').digest('base64')],
      hmac: createHmac('sha512', 'key').update('größer').digest('hex'),
      derived: pbkdf2Sync('password', 'salt', 10, 20, 'sha1').toString('hex'),
      random: 70_000,
      drawn: true,
      equal: [true, false],
    });
  });

  test('is its own default export for require, so that a class can extend it', async () => {
    const code = `
      const Emitter = require('events');
      const { inherits, promisify, inspect } = require('util');
      function Old() { Emitter.call(this); }
      inherits(Old, Emitter);
      class New extends require('node:stream').Transform {
        _transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); }
      }
      const old = new Old();
      const heard = [];
      old.on('said', (word) => heard.push(word));
      old.emit('said', 'hello');
      module.exports = { default: async () => {
        const loud = new New();
        loud.end('quiet');
        const parts = [];
        for await (const part of loud) parts.push(String(part));
        const later = await promisify((value, done) => done(null, value + 1))(1);
        return { heard, parts, later, shown: inspect({ a: [1] }) };
      } };`;
    const run = await evaluate<{ default(): Promise<unknown> }>({ 'index.js': code }, 'index.js');
    expect(await run.default()).toEqual({
      heard: ['hello'],
      parts: ['QUIET'],
      later: 2,
      shown: '{ a: [ 1 ] }',
    });
  });

  test('gives an author no warnings about its own sources', async () => {
    const files = { 'index.ts': `export * from 'assert'; export * from 'stream'; export * from 'url';` };
    expect(await bundled(uploaded(files), 'index.ts')).toMatchObject({ ok: true, warnings: [] });
  });

  test('reads paths, queries and URLs, and asserts', async () => {
    const code = `
      import path from 'node:path'; import querystring from 'querystring'; import url from 'node:url';
      import assert, { AssertionError } from 'assert'; import { StringDecoder } from 'string_decoder';
      import { isDeepStrictEqual } from 'util';
      const decoder = new StringDecoder('utf8');
      const euro = Buffer.from('€');
      let failure;
      try { assert.deepStrictEqual({ a: 1 }, { a: 2 }); } catch (error) { failure = error instanceof AssertionError; }
      export default [
        path.join('/a', '../b', 'c.txt'), path.extname('x.tar.gz'), querystring.stringify({ a: ['1', '2'] }),
        url.parse('https://u:p@h:8/x?y=1#z').auth, failure,
        decoder.write(euro.subarray(0, 2)) + decoder.write(euro.subarray(2)),
        isDeepStrictEqual(new Map([['a', [1]]]), new Map([['a', [1]]])), isDeepStrictEqual([1], ['1']),
      ];`;
    expect(await evaluate({ 'index.ts': code })).toEqual([
      '/b/c.txt',
      '.gz',
      'a=1&a=2',
      'u:p',
      true,
      '€',
      true,
      false,
    ]);
  });

  test('tells hooks of the resources of the code', async () => {
    const code = `
      import { AsyncResource, createHook } from 'node:async_hooks';
      export default async () => {
        const heard = [];
        const told = (event) => (id, type) => heard.push([event, id === resource?.asyncId(), type]);
        const hook = createHook({ init: told('init'), before: told('before'), after: told('after'), destroy: told('destroy') });
        let resource;
        hook.enable().enable();
        resource = new AsyncResource('OWN');
        resource.runInAsyncScope(() => heard.push('run'));
        resource.emitDestroy();
        await null;
        hook.disable();
        new AsyncResource('OTHER');
        return heard;
      };`;
    const run = await evaluate<() => Promise<unknown>>({ 'index.ts': code });
    expect(await run()).toEqual([
      ['init', false, 'OWN'],
      ['before', true, undefined],
      'run',
      ['after', true, undefined],
      ['destroy', true, undefined],
    ]);
  });

  test('follows the code of a call through await, timers and promises', async () => {
    const code = `
      import { AsyncLocalStorage } from 'node:async_hooks';
      const calls = new AsyncLocalStorage();
      const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
      async function work() {
        await pause();
        const seen = [calls.getStore()];
        for await (const step of steps()) seen.push(step);
        await Promise.all([pause().then(() => seen.push(calls.getStore())), null]);
        return seen;
      }
      async function* steps() { yield calls.getStore(); await null; yield calls.getStore(); }
      const both = () => Promise.all(['a', 'b'].map((name) => calls.run(name, work)));
      export default { both };`;
    const { both } = await evaluate<{ both(): Promise<unknown> }>({ 'index.ts': code });
    expect(await both()).toEqual([
      ['a', 'a', 'a', 'a'],
      ['b', 'b', 'b', 'b'],
    ]);
  });
});

test('async generators beside AsyncLocalStorage clean up to the end', async () => {
  const code = `
    import { AsyncLocalStorage } from 'node:async_hooks';
    export const calls = new AsyncLocalStorage();
    async function* rows(log) { try { yield 1; yield 2; } finally { await null; log.push('released'); await null; log.push('gone'); } }
    async function* outer(log) { yield* rows(log); }
    async function run(rows) {
      const log = [];
      for await (const row of rows(log)) { log.push(row); break; }
      log.push('after');
      const other = rows([]);
      await other.next();
      return [...log, (await other.return(7)).value, (await other.next()).done];
    }
    export default async () => [await run(rows), await run(outer)];`;
  const run = await evaluate<() => Promise<unknown>>({ 'index.js': code }, 'index.js');
  const cleaned = [1, 'released', 'gone', 'after', 7, true];
  expect(await run()).toEqual([cleaned, cleaned]);
});

test('the values of a call are followed through whatever waits, and wherever it fails', async () => {
  const code = `
    import { AsyncLocalStorage } from 'node:async_hooks';
    const calls = new AsyncLocalStorage();
    const value = () => calls.getStore();
    const pause = (error) => new Promise((resolve, reject) => setTimeout(error ? reject : resolve, 1, error));
    const thenable = { then: (done) => done(value()) };
    const atTop = await Promise.resolve(value() ?? 'none');
    const cases = {
      arrow: async () => (await pause(), value()),
      deep: async () => [await pause(await pause(await pause())), value()],
      async caught() { try { await pause(new Error()); } catch { return value(); } },
      async caughtLater() { try { await pause(); await pause(new Error()); } catch {} return value(); },
      async finally() { let seen; try { try { await pause(new Error()); } finally { seen = value(); } } catch {} return seen; },
      async inner() { const fail = async () => { await pause(new Error()); }; try { await fail(); } catch { return value(); } },
      async rejected() { return pause(new Error()).catch(value); },
      async thenable() { await pause(); return await thenable; },
      async returned() { await pause(); return thenable; },
      returnedByArrow: async () => (thenable),
      async resolved() { await pause(); return (await Promise.all([Promise.resolve(thenable), pause().then(() => thenable)])).join(); },
      async using() { let seen; { await using a = { async [Symbol.asyncDispose]() { await pause(); seen = value(); } }; } return [seen, value()]; },
      async iterated() { const seen = []; for await (const one of [pause(), 1]) seen.push(value()); return [seen, value()]; },
      async generated() { async function* all() { await pause(); yield value(); } const seen = []; for await (const one of all()) seen.push(one, value()); return seen; },
      async entered() { const enter = async () => { calls.enterWith('entered'); }; await enter(); return value(); },
      async enteredAndThrown() { try { await null; calls.enterWith('entered'); throw new Error(); } catch { return value(); } },
      async all() { return [await Promise.all([pause().then(value), calls.run('other', async () => (await pause(), value()))]), value()]; },
      async method() { class Some { static async of() { 'use strict'; await pause(); return value(); } } return Some.of(); },
      async assigned() { let sum = value(); sum += await Promise.resolve('!'); return [sum, ...await Promise.resolve([value()]), \`\${await 1}\`]; },
    };
    export default async () => ({ atTop, ...Object.fromEntries(await Promise.all(
      Object.entries(cases).map(async ([name, run]) => [name, await calls.run(name, run)]))), outside: value() });`;
  const run = await evaluate<() => Promise<unknown>>({ 'index.js': code }, 'index.js');
  expect(await run()).toEqual({
    atTop: 'none',
    arrow: 'arrow',
    deep: [undefined, 'deep'],
    caught: 'caught',
    caughtLater: 'caughtLater',
    finally: 'finally',
    inner: 'inner',
    rejected: 'rejected',
    thenable: 'thenable',
    returned: 'returned',
    returnedByArrow: 'returnedByArrow',
    resolved: 'resolved,resolved',
    using: ['using', 'using'],
    iterated: [['iterated', 'iterated'], 'iterated'],
    generated: ['generated', 'generated'],
    entered: 'entered',
    enteredAndThrown: 'entered',
    all: [['all', 'other'], 'all'],
    method: 'method',
    assigned: ['assigned!', 'assigned', '1'],
    outside: undefined,
  });
});

test('a stack beside AsyncLocalStorage has the functions that wait, at their own lines', async () => {
  const code = `
    import { AsyncLocalStorage } from 'node:async_hooks';
    export const calls = new AsyncLocalStorage();
    async function level3() { await null; throw new Error('deep'); }
    async function level2() { try { await level3(); } finally { calls.getStore(); } }
    const level1 = async () => await level2();
    export default async () => { await level1(); };`;
  const result = await bundled(uploaded({ 'index.js': code }), 'index.js');
  if (!result.ok) throw new Error('was not bundled');
  const url = 'annex:/stack@1.js';
  const run = await runScript<() => Promise<void>>(result.script, url);
  const { stack = '' } = await run().then(
    () => new Error(),
    (error: Error) => error,
  );
  const mapped = createStackMapper(result.map, url)(stack);
  expect(mapped.split('\n').filter((line) => line.includes('index.js'))).toEqual([
    '    at level3 (index.js:4:49)',
    '    at async level2 (index.js:5:37)',
    '    at async level1 (index.js:6:32)',
    expect.stringMatching(/^ {4}at async .*index\.js:7:34\)?$/),
  ]);
});

describe('names of Node.js', () => {
  test('are there for code that uses them, and say nothing of Node.js or of secrets', async () => {
    const code = `
      export default [typeof Buffer, typeof process, typeof global, typeof setImmediate, global === globalThis,
        process.env, process.versions, process.version, process.release, Buffer.from('a').length, [__filename, __dirname]];`;
    expect(await evaluate({ 'index.ts': code })).toEqual([
      'function',
      'object',
      'object',
      'function',
      true,
      { NODE_ENV: 'production' },
      {},
      '',
      {},
      1,
      ['/script.js', '/'],
    ]);
  });

  test('have timers that are objects where the code takes them for such, and numbers elsewhere', async () => {
    const timer = `const timer = setTimeout(() => {}, 1); export const end = () => clearTimeout(timer);`;
    const code = `${timer} export default [typeof timer, timer.unref?.().hasRef(), timer.constructor.name];`;
    const ended = `const interval = setInterval(function () { clearInterval(this); ended(interval === this); }, 1);
      let ended; export default () => new Promise((resolve) => { ended = resolve; });`;
    expect(await evaluate({ 'index.ts': code })).toEqual(['object', false, 'Timeout']);
    expect(await evaluate<() => unknown>({ 'index.ts': ended }).then((wait) => wait())).toBe(true);
    const script = await scriptOf(
      uploaded({ 'index.ts': `${timer} export default typeof timer;` }),
      'index.ts',
    );
    expect(script).not.toContain('hasRef');
  });

  test('are not globals', async () => {
    const script = await scriptOf(uploaded({ 'index.ts': 'export default Buffer.from("a");' }), 'index.ts');
    expect(script).not.toMatch(/globalThis\.(Buffer|process)\s*=/);
  });

  test('cost code that does not use them not one byte', async () => {
    const code = 'export default { fetch: () => new Response("hello") };';
    const script = await scriptOf(uploaded({ 'index.ts': code }), 'index.ts');
    // The frame and esbuild's own helper for exports; nothing of Node.js.
    expect(script).toBe(
      '(async function (__run) { "use strict";\n' +
        'var __defProp=Object.defineProperty;' +
        'var __export=(target,all)=>{for(var name in all)' +
        '__defProp(target,name,{get:all[name],enumerable:true})};' +
        'var index_exports={};__export(index_exports,{default:()=>index_default});' +
        'var index_default={fetch:()=>new Response("hello")};__run(index_exports);\n})\n',
    );
  });
});

describe('a module that an isolate does not have', () => {
  const pg = (code: string) => ({
    'index.ts': `import { connect } from 'pg'; export default connect;`,
    'node_modules/pg/package.json': '{"main": "lib/index.js"}',
    'node_modules/pg/lib/index.js': code,
  });

  test('is refused with the importing package, its file and its line', async () => {
    const code = `// 'net' of 'node:net'\nconst net = require('net'); const name = 'net';\nexports.connect = () => net.connect(1);`;
    expect(await refused(pg(code))).toEqual([
      expect.objectContaining({
        severity: 'error',
        file: 'node_modules/pg/lib/index.js',
        line: 2,
        column: 21,
        message: 'Package "pg" imports "node:net", a module of Node.js that does not exist in an isolate.',
        hint: expect.stringContaining('"browser": {"net": false}'),
      }),
    ]);
  });

  test('is refused in a file of the integration', async () => {
    const problems = await refused({
      'index.ts': `import { readFileSync } from 'node:fs'; export default readFileSync;`,
    });
    expect(problems).toEqual([
      expect.objectContaining({
        file: 'index.ts',
        line: 1,
        message: '"node:fs" is a module of Node.js that does not exist in an isolate.',
      }),
    ]);
  });

  test('cannot be had by a name that says that it is allowed, nor by one that Node.js does not have', async () => {
    const code = `import 'node:net allowed'; import x from 'node:nonsense'; export default x;`;
    const problems = await refused({ 'index.ts': code });
    expect(problems.map(({ message }) => message)).toEqual([
      '"node:net allowed" cannot be imported: code is not loaded from URLs.',
      '"node:nonsense" is a module of Node.js that does not exist in an isolate.',
    ]);
  });

  test('is refused beside the other problems of an upload', async () => {
    const problems = await refused({
      'index.ts': `import net from 'node:net'; import './missing'; export default net;`,
    });
    expect(problems.map(({ message }) => message)).toEqual([
      '"./missing" is not in the upload.',
      '"node:net" is a module of Node.js that does not exist in an isolate.',
    ]);
  });

  test('may be imported by code that the bundle does not have', async () => {
    const files = {
      'index.ts': `
        import { readFileSync } from 'fs';
        const unused = () => readFileSync('a');
        if (process.env.NODE_ENV === 'development') require('child_process').exec('a');
        export default 1;`,
    };
    expect(await evaluate(files)).toBe(1);
  });

  test('throws at its use where the integration does without it, and names package and function', async () => {
    const code = `const net = require('net');\nexports.connect = (...to) => net.connect(...to);`;
    const files = { ...pg(code), 'package.json': '{"browser": {"net": false}}' };
    const connect = await evaluate<() => void>(files);
    expect(connect).toThrow(
      /^net\.connect of Node\.js does not exist in an isolate\. It was used by the package "pg"\./,
    );
  });

  test('throws at its use where much-used packages import it for what fetch never needs', async () => {
    const files = pg(`
      const https = require('https'); const v8 = require('v8');
      class Agent extends https.Agent {}
      exports.connect = (name) => ({ agent: new Agent({ a: 1 }).options, status: https.STATUS_CODES[404],
        used: name === 'v8' ? v8.serialize('') : https.request('https://a.example') });`);
    const connect = await evaluate<(name: string) => void>(files);
    expect(() => connect('v8')).toThrow(/^v8\.serialize of Node\.js/);
    expect(() => connect('https')).toThrow(/^https\.request of Node\.js/);
  });
});

describe('what an upload does not have', () => {
  test('throws the error of Node.js each time, where code expects it', async () => {
    const files = {
      'index.ts': `
        import { codes } from './optional.cjs';
        const name = 'com' + 'puted';
        const caught = async (run: () => unknown) => { try { return await run(); } catch (error) { return error.code; } };
        export default async (ask = false) => [
          ...codes(),
          await import('absent').catch(({ message }) => message),
          await import('absent').then(() => 1).catch(({ code }) => code),
          await import('absent').then(() => 1, ({ code }) => code),
          (await Promise.allSettled([import('./absent.ts')]))[0].reason.code,
          ask ? require('never') : 'not asked',
          await caught(() => require(name)),
        ];`,
      'optional.cjs': `
        exports.codes = () => {
          const seen = [];
          for (let i = 0; i < 2; i++) try { require('bufferutil'); } catch ({ code, message }) { seen.push(code, message); }
          try { require.resolve('bufferutil'); } catch ({ code }) { seen.push(code); }
          try { seen.push(require.resolve('./there.js')); } catch ({ code }) { seen.push(code); }
          try { require('./build/native.node'); } catch ({ code }) { seen.push(code); }
          try { require('fs'); } catch ({ code }) { seen.push(code); }
          if (typeof seen === 'string') require('fs/promises').readFile('a');
          return seen;
        };`,
      ...{ 'there.js': '', 'build/native.node': 'ELF' },
    };
    const run = await evaluate<() => Promise<unknown>>(files);
    expect(await run()).toEqual([
      ...['MODULE_NOT_FOUND', "Cannot find module 'bufferutil'"],
      ...['MODULE_NOT_FOUND', "Cannot find module 'bufferutil'", 'MODULE_NOT_FOUND'],
      ...['./there.js', 'MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', "Cannot find package 'absent'"],
      ...['ERR_MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'],
      ...['not asked', 'MODULE_NOT_FOUND'],
    ]);
  });

  test.each([
    `require('gone');`,
    `exports.x = require.resolve('gone');`,
    `import('gone');`,
    `import gone from 'gone'; export default gone;`,
    `try { require('gone'); } catch {} require('gone');`,
    `try { exports.later = () => require('gone'); } catch {}`,
    `try { require('gone'); } finally {}`,
    `/* require('gone') */ const text = "try { require('gone') } catch {}"; exports.x = [text, require('gone')];`,
  ])('is refused by its name where nothing expects it: %s', async (code) => {
    expect(await refused({ 'index.ts': code })).toMatchObject([
      { severity: 'error', file: 'index.ts', line: 1, message: 'Package "gone" is not in the upload.' },
    ]);
  });

  test('is named to the author where it may never be asked for', async () => {
    const files = { 'index.js': `if (globalThis.asked) require('gone');`, 'other.js': '' };
    const warnings = [
      { file: 'index.js', line: 1, message: '"gone" is not in the upload: this import fails if it runs.' },
    ];
    expect(await bundled(uploaded(files), 'index.js')).toMatchObject({ ok: true, warnings });
  });
});
