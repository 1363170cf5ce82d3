/**
 * Attacks on Web Crypto: a tenant that wants key material it may not have, and a prelude that has
 * been taken over.
 */
import { webcrypto } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CellCall } from '../../../src/cell/calls/cell-call.ts';
import { CryptoJobs, CryptoThreads } from '../../../src/cell/crypto/crypto-jobs.ts';
import { MainThread } from '../../../src/cell/isolates/main-thread.ts';
import { CryptoService } from '../../support/web/crypto-service.ts';

const { subtle } = webcrypto;

let cell: CryptoService;
let secret: Buffer<ArrayBuffer>;
/**
 * Code that makes the secret a key that may not be exported, without its bytes ever being in the
 * isolate.
 */
let unwrapping: string;
beforeAll(async () => {
  cell = await CryptoService.start({ callCpuMs: 20_000 });
  secret = Buffer.from(webcrypto.getRandomValues(new Uint8Array(32)));
  const kek = new Uint8Array(16).fill(1);
  const wrapping = await subtle.importKey('raw', kek, 'AES-KW', false, ['wrapKey']);
  const key = await subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
  const wrapped = Buffer.from(await subtle.wrapKey('raw', key, wrapping, 'AES-KW')).toString('hex');
  unwrapping = `
    const kek = await subtle.importKey('raw', new Uint8Array(16).fill(1), 'AES-KW', false, ['unwrapKey']);
    const key = await subtle.unwrapKey('raw', Uint8Array.fromHex('${wrapped}'), kek, 'AES-KW', { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);`;
});
afterAll(() => cell.stop());

describe('a key that may not be exported', () => {
  test('shows its material to no walk over properties, no JSON, no console, no clone', async () => {
    const shown = JSON.stringify(
      await cell.run(`
        ${unwrapping}
        const seen = [];
        const walk = (value, depth) => {
          if (depth > 6 || seen.includes(value)) return;
          if ((typeof value !== 'object' || value === null) && typeof value !== 'function') { seen.push(String(value)); return; }
          seen.push(value);
          if (ArrayBuffer.isView(value)) seen.push([...new Uint8Array(value.buffer)].join());
          for (const name of Reflect.ownKeys(value)) { let member; try { member = value[name]; } catch { continue; } walk(member, depth + 1); }
          walk(Object.getPrototypeOf(value), depth + 1);
        };
        walk(key, 0);
        const texts = seen.map((item) => typeof item === 'object' || typeof item === 'function' ? Object.prototype.toString.call(item) : item);
        console.log(key, { key });
        let cloned = 'none';
        try { cloned = String(globalThis.structuredClone?.(key)); } catch (error) { cloned = error.name; }
        const spread = { ...key };
        return [texts, JSON.stringify(key), Object.keys(spread), Reflect.ownKeys(key), cloned, await nameOf(() => subtle.exportKey('raw', key)), await nameOf(() => subtle.exportKey('jwk', key)), await nameOf(() => subtle.wrapKey('raw', key, kek, 'AES-KW'))];`),
    );
    const log = JSON.stringify(await cell.service.log(cell.installed));
    expect(log).toContain("CryptoKey {\\n  type: 'secret',\\n  extractable: false,");
    for (const text of [shown, log]) {
      expect(text).not.toContain(secret.toString('hex'));
      expect(text).not.toContain([...secret].join());
      expect(text).not.toContain(secret.toString('base64url'));
      expect(text).not.toContain(secret.toString('base64').slice(0, 40));
    }
    expect(JSON.parse(shown).slice(-3)).toEqual([
      'InvalidAccessError',
      'InvalidAccessError',
      'InvalidAccessError',
    ]);
  });

  test('shows its material to no replaced built-in, though all of them are replaced before its first use', async () => {
    const spiedOn = async (extractable: boolean) =>
      (await cell.run(
        `${SPY.replace('SECRET', secret.toString('hex'))}
         const { subtle: spied } = crypto;
         ${unwrapping.replaceAll('subtle.', 'spied.').replace("false, ['sign", `${extractable}, ['sign`)}
         const mac = await spied.sign('HMAC', key, new Uint8Array(3));
         const verified = await spied.verify('HMAC', key, mac, new Uint8Array(3));
         const names = [];
         for (const format of ['raw', 'jwk']) { try { await spied.exportKey(format, key); names.push('none'); } catch (error) { names.push(error.name); } }
         return finish(() => [verified, names]);`,
        await cell.install(),
      )) as [unknown, string[], number];
    expect((await spiedOn(false)).slice(0, 2)).toEqual([
      [true, ['InvalidAccessError', 'InvalidAccessError']],
      [],
    ]);
    // The spy does see what a script may see, or it would prove nothing.
    const [answers, found] = await spiedOn(true);
    expect(answers).toEqual([true, ['none', 'none']]);
    expect(found.length).toBeGreaterThan(0);
  });

  test('is not exported in the place of another operation by an object that changes under JSON', async () => {
    const own = await cell.install();
    const result = await cell.run(
      `${unwrapping}
       Object.prototype.toJSON = function () { return { ...this, operation: 'exportKey', format: 'raw' }; };
       Array.prototype.toJSON = Object.prototype.toJSON;
       Object.defineProperty(Object.prototype, 'operation', { get: () => 'exportKey', set() {}, configurable: true });
       Object.defineProperty(Object.prototype, 'format', { get: () => 'raw', set() {}, configurable: true });
       const out = [...new Uint8Array(await subtle.sign('HMAC', key, text('data')))];
       for (const name of ['toJSON', 'operation', 'format']) delete Object.prototype[name];
       delete Array.prototype.toJSON;
       return out;`,
      own,
    );
    const key = await subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    expect(result).toEqual([...new Uint8Array(await subtle.sign('HMAC', key, Buffer.from('data')))]);
  });

  test('cannot be forged: a tenant cannot make a CryptoKey, nor pass another object for one', async () => {
    expect(
      await cell.run(`
        ${unwrapping}
        const fake = Object.create(CryptoKey.prototype, { extractable: { value: true } });
        const heir = new Proxy(key, { get: (target, name) => (name === 'extractable' ? true : target[name]) });
        Object.defineProperty(key, 'extractable', { value: true });
        Object.defineProperty(key, 'usages', { value: ['sign', 'decrypt'] });
        const attempts = [fake, heir, key].map((one) => nameOf(() => subtle.exportKey('raw', one)));
        attempts.push(nameOf(() => Reflect.construct(CryptoKey, [Symbol(), {}])), nameOf(() => new (class extends CryptoKey {})()));
        return Promise.all(attempts);`),
    ).toEqual(['TypeError', 'TypeError', 'InvalidAccessError', 'TypeError', 'TypeError']);
  });
});

/**
 * Replaces the built-ins by spies that pass everything on and look for the secret in all that goes
 * through them: in receivers, arguments and results, a few levels deep.
 */
const SPY = `
  const wanted = 'SECRET';
  const found = []; let looked = 0; let inside = false;
  const R = { apply: Reflect.apply, construct: Reflect.construct, ownKeys: Reflect.ownKeys, get: Object.getOwnPropertyDescriptor, define: Object.defineProperty, isView: ArrayBuffer.isView };
  const toHex = Uint8Array.prototype.toHex, includes = String.prototype.includes, join = Array.prototype.join, U8 = Uint8Array, AB = ArrayBuffer, stringify = JSON.stringify;
  const latin1 = [...U8.fromHex(wanted)].map((code) => String.fromCharCode(code)).join('');
  const base64 = U8.fromHex(wanted).toBase64({ alphabet: 'base64url', omitPadding: true });
  const has = (text) => R.apply(includes, text, [wanted]) || R.apply(includes, text, [latin1]) || R.apply(includes, text, [base64]);
  const look = (where, value, depth) => {
    looked++;
    if (typeof value === 'string') { if (has(value)) found[found.length] = where; return; }
    if (typeof value !== 'object' || value === null || depth > 4) return;
    try {
      const bytes = R.isView(value) ? new U8(value.buffer, value.byteOffset, value.byteLength) : value instanceof AB ? new U8(value) : undefined;
      if (bytes !== undefined) { if (bytes.length < 100000 && has(R.apply(toHex, bytes, []))) found[found.length] = where; return; }
      const keys = R.ownKeys(value);
      for (let i = 0; i < keys.length && i < 40; i++) { const d = R.get(value, keys[i]); if (d && 'value' in d) look(where, d.value, depth + 1); }
    } catch {}
  };
  const guarded = (where, self, given, result) => {
    if (inside) return; inside = true;
    try { look(where, self, 0); for (let i = 0; i < given.length; i++) look(where, given[i], 0); look(where, result, 0); } finally { inside = false; }
  };
  const undo = [];
  const replace = (target, key, descriptor) => { const old = R.get(target, key); undo[undo.length] = () => old ? R.define(target, key, old) : delete target[key]; try { R.define(target, key, { configurable: true, ...descriptor }); } catch {} };
  const spyOn = (label, target) => {
    const keys = R.ownKeys(target);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (key === 'constructor' || key === 'prototype') continue;
      const d = R.get(target, key);
      if (!d || !d.configurable) continue;
      const where = label + '.' + String(key);
      if (typeof d.value === 'function') {
        const method = d.value;
        replace(target, key, { writable: true, value: function (...given) { if (inside) return R.apply(method, this, given); const result = R.apply(method, this, given); guarded(where, this, given, result); return result; } });
      } else if (d.get) {
        const { get, set } = d;
        replace(target, key, { set, get() { const result = R.apply(get, this, []); guarded(where, this, [], result); return result; } });
      }
    }
  };
  const trap = (label, target, key) => replace(target, key, {
    get() { guarded(label, this, [], undefined); return undefined; },
    set(value) { guarded(label, this, [value], undefined); R.define(this, key, { value, writable: true, enumerable: true, configurable: true }); },
  });
  spyOn('JSON', JSON); spyOn('Object', Object); spyOn('Reflect', Reflect); spyOn('Array', Array); spyOn('Promise', Promise);
  for (const one of [Function, Array, Promise, Map, Set, WeakMap, String, RegExp, ArrayBuffer, DataView, Uint8Array, Number, Symbol, Error]) spyOn(one.name, one.prototype);
  spyOn('TypedArray', Object.getPrototypeOf(Uint8Array.prototype));
  spyOn('ArrayIterator', Object.getPrototypeOf([][Symbol.iterator]()));
  const PromiseCopy = Promise;
  replace(Promise.prototype, 'constructor', { writable: true, value: class extends PromiseCopy {} });
  for (const name of ['material', 'bytes', 'buffer', 'id', 'type', 'extractable', 'usages', 'request', 'done', 'next', 'first', 'tail', 'jobs', 'given', 'then', 'toJSON', 'resolve', 'pieces', 'key', 'data', 'error', 'keys', 'jwk', 'valid', 'message', 'length', 'hash', 'public', 'publicExponent', 'get', 'set', 'writable', 'enumerable'])
    trap('Object.prototype.' + name, Object.prototype, name);
  for (let i = 0; i < 8; i++) { trap('Array.prototype.' + i, Array.prototype, i); trap('Object.prototype.' + i, Object.prototype, String(i)); }
  const finish = (result) => { inside = true; for (let i = undo.length - 1; i >= 0; i--) { try { undo[i](); } catch {} } return [result(), found, looked]; };
`;

describe('a prelude that has been taken over', () => {
  const ANSWER_MS = 10_000;
  /** The cell's answer to a job as it was emitted. */
  async function forged(
    text: unknown,
    bytes: unknown = new ArrayBuffer(0),
    number: unknown = 1,
  ): Promise<{ error?: string; message?: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const jobs = new CryptoJobs(new CryptoThreads(), new MainThread().open(), {
      done: (_call, [, answer]) => resolve(answer as string),
      overdrawn: () => reject(new Error('overdrawn')),
    });
    jobs.submit(new CellCall({ id: 1, cpuMs: ANSWER_MS, wallMs: ANSWER_MS }), number, text, bytes);
    return JSON.parse(await promise) as { error?: string; message?: string };
  }
  const answerTo = (request: object, bytes?: ArrayBuffer) =>
    forged(JSON.stringify({ pieces: [], ...request }), bytes);
  const hmacKey = (material: number, more: object = {}) => ({
    id: 1,
    type: 'secret',
    algorithm: { name: 'HMAC', hash: 'SHA-256' },
    usages: ['sign'],
    material,
    ...more,
  });

  test.each([
    ['no text', undefined],
    ['an object', {}],
    ['no JSON', '{'],
    ['no object', '1'],
    ['null', 'null'],
    ['a text without end', `"${'x'.repeat(70_000)}"`],
    ['no operation', '{"pieces":[]}'],
    ['an operation of Object.prototype', '{"operation":"toString","pieces":[]}'],
    ['an operation that is no text', '{"operation":{"a":1},"pieces":[]}'],
    ['pieces beyond the bytes', '{"operation":"digest","algorithm":{"name":"SHA-1"},"pieces":[9],"data":0}'],
    [
      'a piece of negative length',
      '{"operation":"digest","algorithm":{"name":"SHA-1"},"pieces":[-1],"data":0}',
    ],
    ['a piece that is not there', '{"operation":"digest","algorithm":{"name":"SHA-1"},"pieces":[],"data":0}'],
    ['thousands of pieces', JSON.stringify({ operation: 'digest', pieces: Array(5_000).fill(0) })],
    [
      'an algorithm Node knows and a tenant may not use',
      '{"operation":"digest","algorithm":{"name":"SHA3-256"},"pieces":[0],"data":0}',
    ],
    ['a new key of no algorithm', '{"operation":"generateKey","algorithm":7,"usages":[],"pieces":[]}'],
    ['an invalid key', '{"operation":"sign","algorithm":{"name":"HMAC"},"key":7,"pieces":[0],"data":0}'],
  ])('gets an error and nothing else for %s', async (_what, text) => {
    expect(await forged(text)).toEqual({ error: 'OperationError', message: 'The operation failed' });
  });

  test('gets an error for bytes that are no ArrayBuffer', async () => {
    expect(await forged('{"operation":"digest","pieces":[]}', 'bytes')).toMatchObject({
      error: 'OperationError',
    });
  });

  test('cannot request operations that the prelude would refuse: the cell checks the bounds itself', async () => {
    const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-1', salt: 0, iterations: 100_001 };
    const key = { id: 1, type: 'secret', algorithm: { name: 'PBKDF2' }, usages: ['deriveBits'], material: 0 };
    const rsa = { name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 16_384, publicExponent: 0 };
    expect([
      (
        await answerTo(
          { operation: 'deriveBits', algorithm: pbkdf2, key, length: 8, pieces: [1] },
          new ArrayBuffer(1),
        )
      ).message,
      (
        await answerTo(
          {
            operation: 'deriveBits',
            algorithm: { ...pbkdf2, iterations: 1 },
            key,
            length: 2 ** 30,
            pieces: [1],
          },
          new ArrayBuffer(1),
        )
      ).message,
      (
        await answerTo(
          { operation: 'generateKey', algorithm: rsa, usages: ['sign'], pieces: [3] },
          Uint8Array.of(1, 0, 1).buffer,
        )
      ).message,
      (
        await answerTo(
          {
            operation: 'generateKey',
            algorithm: { ...rsa, modulusLength: 1_024 },
            usages: ['sign'],
            pieces: [1],
          },
          Uint8Array.of(17).buffer,
        )
      ).message,
      (
        await answerTo({
          operation: 'generateKey',
          algorithm: { name: 'HMAC', hash: 'SHA-1', length: 2 ** 31 },
          usages: ['sign'],
        })
      ).message,
      (
        await answerTo(
          { operation: 'digest', algorithm: { name: 'SHA-1' }, data: 0, pieces: [18 * 2 ** 20] },
          new ArrayBuffer(18 * 2 ** 20),
        )
      ).error,
      (
        await answerTo(
          {
            operation: 'importKey',
            format: 'spki',
            algorithm: { name: 'RSA-PSS', hash: 'SHA-1' },
            usages: ['verify'],
            data: 0,
            pieces: [2 ** 20],
          },
          new ArrayBuffer(2 ** 20),
        )
      ).error,
    ]).toEqual([
      'PBKDF2 may have 100000 iterations at most',
      'At most 130560 bits can be derived at once',
      'An RSA key may have 4096 bits at most',
      'The public exponent must be 3 or 65537',
      'An HMAC key may have 65536 bits at most',
      'OperationError',
      'DataError',
    ]);
  });

  test('that reuses the id of a key gets the key that it sends, not the one used before', async () => {
    // More than a small job may have: small jobs do not cache keys.
    const DATA_BYTES = 8 * 1_024;
    const answers: string[] = [];
    let resolve: () => void = () => undefined;
    const jobs = new CryptoJobs(new CryptoThreads(), new MainThread().open(), {
      done: (_call, [, answer, bytes]) => {
        answers.push(bytes ? Buffer.from(bytes as Uint8Array).toString('hex') : (answer as string));
        resolve();
      },
      overdrawn: () => undefined,
    });
    const call = new CellCall({ id: 1, cpuMs: ANSWER_MS, wallMs: ANSWER_MS });
    const sign = (keyBytes: number[], more: object = {}) => {
      const next = new Promise<void>((done) => {
        resolve = done;
      });
      const request = {
        operation: 'sign',
        algorithm: { name: 'HMAC' },
        key: hmacKey(0, more),
        data: 1,
        pieces: [2, DATA_BYTES],
      };
      const bytes = new Uint8Array(2 + DATA_BYTES);
      bytes.set(keyBytes);
      jobs.submit(call, 1, JSON.stringify(request), bytes.buffer);
      return next;
    };
    await sign([1, 1]);
    await sign([2, 2]);
    await sign([1, 1]);
    await sign([1, 1], { algorithm: { name: 'HMAC', hash: 'SHA-1' } });
    const expected = await Promise.all(
      [
        ['SHA-256', 1],
        ['SHA-256', 2],
        ['SHA-256', 1],
        ['SHA-1', 1],
      ].map(async ([hash, byte]) => {
        const key = await subtle.importKey(
          'raw',
          Uint8Array.of(Number(byte), Number(byte)),
          { name: 'HMAC', hash: String(hash) },
          false,
          ['sign'],
        );
        return Buffer.from(await subtle.sign('HMAC', key, new Uint8Array(DATA_BYTES))).toString('hex');
      }),
    );
    expect(answers).toEqual(expected);
  });

  test('has a bounded number of jobs waiting, however many it emits', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let done = 0;
    const jobs = new CryptoJobs(new CryptoThreads(), new MainThread().open(), {
      done: (_call, answers) => {
        done += answers.length / 3;
        if (done >= 32) resolve();
      },
      overdrawn: () => undefined,
    });
    const call = new CellCall({ id: 1, cpuMs: ANSWER_MS, wallMs: ANSWER_MS });
    const request = JSON.stringify({
      operation: 'digest',
      algorithm: { name: 'SHA-1' },
      data: 0,
      pieces: [0],
    });
    for (let i = 0; i < 100_000; i++) jobs.submit(call, i, request, new ArrayBuffer(0));
    await promise;
    // A later job is done: one beyond the bound would have been answered by now.
    await subtle.digest('SHA-1', new Uint8Array());
    expect(done).toBe(32);
  });
});
