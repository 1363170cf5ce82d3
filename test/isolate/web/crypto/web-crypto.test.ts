/**
 * Web Crypto inside an isolate: known answers, and exchange with Node's Web Crypto in both
 * directions.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CryptoService } from '../../../support/web/crypto-service.ts';

let cell: CryptoService;
beforeAll(async () => {
  cell = await CryptoService.start({ callCpuMs: 20_000 });
});
afterAll(() => cell.stop());

describe('the interfaces', () => {
  test('have the members, lengths and tags of the standard, and cannot be constructed', async () => {
    expect(
      await cell.run(`
        const lengths = (prototype) => Object.fromEntries(Object.keys(prototype).map((key) => {
          const { value, enumerable } = Object.getOwnPropertyDescriptor(prototype, key);
          return [key, value === undefined ? 'getter' : value.length];
        }));
        return {
          Crypto: lengths(Crypto.prototype), SubtleCrypto: lengths(SubtleCrypto.prototype), CryptoKey: lengths(CryptoKey.prototype),
          tags: [crypto, subtle, CryptoKey.prototype].map((object) => object[Symbol.toStringTag]),
          names: [Crypto, SubtleCrypto, CryptoKey, QuotaExceededError].map(({ name, length }) => [name, length]),
          same: crypto.subtle === crypto.subtle && crypto instanceof Crypto && crypto.subtle instanceof SubtleCrypto,
          constructed: await Promise.all([Crypto, SubtleCrypto, CryptoKey].map((one) => nameOf(() => new one()))),
          brand: [await nameOf(() => Crypto.prototype.randomUUID.call({})), await nameOf(() => Crypto.prototype.subtle), await nameOf(() => CryptoKey.prototype.type)],
        };`),
    ).toEqual({
      Crypto: { subtle: 'getter', getRandomValues: 1, randomUUID: 0 },
      SubtleCrypto: {
        encrypt: 3,
        decrypt: 3,
        sign: 3,
        verify: 4,
        digest: 2,
        generateKey: 3,
        deriveKey: 5,
        deriveBits: 2,
        importKey: 5,
        exportKey: 2,
        wrapKey: 4,
        unwrapKey: 7,
      },
      CryptoKey: { type: 'getter', extractable: 'getter', algorithm: 'getter', usages: 'getter' },
      tags: ['Crypto', 'SubtleCrypto', 'CryptoKey'],
      names: [
        ['Crypto', 0],
        ['SubtleCrypto', 0],
        ['CryptoKey', 0],
        ['QuotaExceededError', 0],
      ],
      same: true,
      constructed: ['TypeError', 'TypeError', 'TypeError'],
      brand: ['TypeError', 'TypeError', 'TypeError'],
    });
  });
});

describe('random values', () => {
  test('fill every array of integers, and come back in the same array', async () => {
    const kinds = [
      'Int8',
      'Uint8',
      'Uint8Clamped',
      'Int16',
      'Uint16',
      'Int32',
      'Uint32',
      'BigInt64',
      'BigUint64',
    ];
    expect(
      await cell.run(`
        return ${JSON.stringify(kinds)}.map((kind) => {
          const array = new globalThis[kind + 'Array'](64);
          const same = crypto.getRandomValues(array) === array;
          const part = new Uint8Array(100);
          crypto.getRandomValues(part.subarray(10, 90));
          return same && array.some((value) => value != 0) && part.subarray(90).every((value) => value === 0) && part.subarray(10, 90).some((value) => value > 0);
        });`),
    ).toEqual(kinds.map(() => true));
  });

  test('are refused for other views, and beyond 65,536 bytes', async () => {
    expect(
      await cell.run(`
        const refused = (array) => nameOf(() => crypto.getRandomValues(array));
        const quota = await Promise.resolve().then(() => crypto.getRandomValues(new Uint16Array(32769))).catch((error) => error);
        return [
          await refused(new Float16Array(6)), await refused(new Float32Array(70000)), await refused(new Float64Array(6)),
          await refused(new DataView(new ArrayBuffer(70000))), await refused([1]), await refused(new ArrayBuffer(1)), await refused(),
          await refused(new Uint8Array(65537)), await refused(new Uint8Array(65536)), await refused(new BigInt64Array(0)),
          [quota instanceof QuotaExceededError, quota instanceof DOMException, quota.constructor === QuotaExceededError, quota.code, quota.quota, quota.requested],
        ];`),
    ).toEqual([
      ...Array(4).fill('TypeMismatchError'),
      'TypeError',
      'TypeError',
      'TypeError',
      'QuotaExceededError',
      'none',
      'none',
      [true, true, true, 22, null, null],
    ]);
  });

  test('are never returned twice, and are refused to a call that requests them in an endless loop', async () => {
    const result = (await cell.run(`
      const seen = new Set();
      for (let i = 0; i < 3000; i++) seen.add(crypto.randomUUID());
      const small = new Uint8Array(4);
      let asked = 0;
      const end = await nameOf(() => { for (;;) { crypto.getRandomValues(new Uint8Array(300)); asked++; } });
      return [[...seen], asked, end];`)) as [string[], number, string];
    expect(result[0]).toHaveLength(3000);
    expect(
      result[0].every((uuid) =>
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid),
      ),
    ).toBe(true);
    expect(result[1]).toBeGreaterThan(1_000);
    expect(result[2]).toBe('OperationError');
  });
});

describe('known answers', () => {
  test.each([
    ['SHA-1', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ['SHA-256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'SHA-384',
      'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
    ],
    [
      'SHA-512',
      'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    ],
  ])('%s of "abc" (FIPS 180)', async (name, digest) => {
    expect(await cell.run(`return hex(await subtle.digest('${name}', text('abc')))`)).toBe(digest);
  });

  test('HMAC (RFC 4231, case 2)', async () => {
    expect(
      await cell.run(`
        const key = await subtle.importKey('raw', text('Jefe'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
        const data = text('what do ya want for nothing?');
        const mac = await subtle.sign('HMAC', key, data);
        const cut = new Uint8Array(mac).subarray(1);
        return [hex(mac), await subtle.verify('HMAC', key, mac, data), await subtle.verify('HMAC', key, mac, text('x')), await subtle.verify('HMAC', key, cut, data)];`),
    ).toEqual(['5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', true, false, false]);
  });

  test('AES-GCM (McGrew and Viega, case 4), AES-CBC and AES-CTR (SP 800-38A), AES-KW (RFC 3394)', async () => {
    expect(
      await cell.run(`
        const key = (name, bytes, ...usages) => subtle.importKey('raw', unhex(bytes), name, false, usages);
        const gcm = await key('AES-GCM', 'feffe9928665731c6d6a8f9467308308', 'encrypt');
        const cbc = await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c', 'encrypt', 'decrypt');
        const ctr = await key('AES-CTR', '2b7e151628aed2a6abf7158809cf4f3c', 'encrypt');
        const kw = await key('AES-KW', '000102030405060708090a0b0c0d0e0f', 'wrapKey', 'unwrapKey');
        const inner = await subtle.importKey('raw', unhex('00112233445566778899aabbccddeeff'), 'AES-GCM', true, ['encrypt']);
        const block = unhex('6bc1bee22e409f96e93d7e117393172a');
        const sealed = await subtle.encrypt({ name: 'AES-CBC', iv: unhex('000102030405060708090a0b0c0d0e0f') }, cbc, block);
        return [
          hex(await subtle.encrypt({ name: 'AES-GCM', iv: unhex('cafebabefacedbaddecaf888'), additionalData: unhex('feedfacedeadbeeffeedfacedeadbeefabaddad2') }, gcm,
            unhex('d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39'))),
          hex(sealed).slice(0, 32), hex(await subtle.decrypt({ name: 'AES-CBC', iv: unhex('000102030405060708090a0b0c0d0e0f') }, cbc, sealed)),
          hex(await subtle.encrypt({ name: 'AES-CTR', counter: unhex('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'), length: 64 }, ctr, block)),
          hex(await subtle.wrapKey('raw', inner, kw, 'AES-KW')),
        ];`),
    ).toEqual([
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47',
      '7649abac8119b246cee98e9b12e9197d',
      '6bc1bee22e409f96e93d7e117393172a',
      '874d6191b620e3261bef6864990db6ce',
      '1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5',
    ]);
  });

  test('Ed448 (RFC 8032, section 7.4) and X448 (RFC 7748, section 5.2)', async () => {
    expect(
      await cell.run(`
        const seed = unhex('6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3528c8a3fcc2f044e39a3fc5b94492f8f032e7549a20098f95b');
        const ed = await subtle.importKey('pkcs8', unhex('3047020100300506032b6571043b0439' + hex(seed)), 'Ed448', true, ['sign']);
        const edPublic = await subtle.importKey('raw', unhex('5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180'), 'Ed448', true, ['verify']);
        const signature = await subtle.sign('Ed448', ed, text(''));
        const inContext = { name: 'Ed448', context: text('foo') };
        const other = await subtle.sign(inContext, ed, text(''));
        const five = '05' + '00'.repeat(55);
        const scalar = await subtle.importKey('pkcs8', unhex('3046020100300506032b656f043a0438' + five), 'X448', true, ['deriveBits']);
        const point = await subtle.importKey('raw', unhex(five), 'X448', true, []);
        return [
          hex(signature), await subtle.verify('Ed448', edPublic, signature, text('')),
          hex(other) === hex(signature), await subtle.verify(inContext, edPublic, other, text('')), await subtle.verify('Ed448', edPublic, other, text('')),
          await nameOf(() => subtle.sign({ name: 'Ed448', context: new Uint8Array(256) }, ed, text(''))),
          hex(await subtle.deriveBits({ name: 'X448', public: point }, scalar, 448)),
          hex(await subtle.deriveBits({ name: 'X448', public: point }, scalar, null)).length,
        ];`),
    ).toEqual([
      '533a37f6bbe457251f023c0d88f976ae2dfb504a843e34d2074fd823d41a591f2b233f034f628281f2fd7a22ddd47d7828c59bd0a21bfd3980ff0d2028d4b18a9df63e006c5d1c2d345b925d8dc00b4104852db99ac5c7cdda8530a113a0f4dbb61149f05a7363268c71d95808ff2e652600',
      ...[true, false, true, false, 'OperationError'],
      '3f482c8a9f19b01e6c46ee9711d9dc14fd4bf67af30765c2ae2b846a4d23a8cd0db897086239492caf350b51f833868b9bc2b3bca9cf4113',
      112,
    ]);
  });

  test('Ed25519 (RFC 8032, test 3) and X25519 (RFC 7748, section 5.2)', async () => {
    expect(
      await cell.run(`
        const pkcs8 = (oid, seed) => unhex('302e020100300506032b65' + oid + '04220420' + seed);
        const nine = '09' + '00'.repeat(31);
        const ed = await subtle.importKey('pkcs8', pkcs8('70', 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7'), 'Ed25519', true, ['sign']);
        const edPublic = await subtle.importKey('raw', unhex('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025'), 'Ed25519', true, ['verify']);
        const scalar = await subtle.importKey('pkcs8', pkcs8('6e', nine), 'X25519', true, ['deriveBits']);
        const point = await subtle.importKey('raw', unhex(nine), 'X25519', true, []);
        const signature = await subtle.sign('Ed25519', ed, unhex('af82'));
        return [
          hex(signature), await subtle.verify('Ed25519', edPublic, signature, unhex('af82')),
          hex(await subtle.deriveBits({ name: 'X25519', public: point }, scalar, 256)),
          hex(await subtle.deriveBits({ name: 'X25519', public: point }, scalar, null)),
          hex(await subtle.deriveBits({ name: 'X25519', public: point }, scalar, 16)),
        ];`),
    ).toEqual([
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
      true,
      '422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079',
      '422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079',
      '422c',
    ]);
  });

  test('HKDF (RFC 5869, case 1) and PBKDF2 (RFC 6070)', async () => {
    expect(
      await cell.run(`
        const ikm = await subtle.importKey('raw', unhex('0b'.repeat(22)), 'HKDF', false, ['deriveBits']);
        const password = await subtle.importKey('raw', text('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
        const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-1', salt: text('salt'), iterations: 4096 };
        const derived = await subtle.deriveKey(pbkdf2, password, { name: 'HMAC', hash: 'SHA-256', length: 160 }, true, ['sign']);
        return [
          hex(await subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: unhex('000102030405060708090a0b0c'), info: unhex('f0f1f2f3f4f5f6f7f8f9') }, ikm, 336)),
          hex(await subtle.deriveBits(pbkdf2, password, 160)),
          hex(await subtle.exportKey('raw', derived)), derived.algorithm,
        ];`),
    ).toEqual([
      '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
      '4b007901b765489abead49d926f721d065a429c1',
      '4b007901b765489abead49d926f721d065a429c1',
      { name: 'HMAC', hash: { name: 'SHA-256' }, length: 160 },
    ]);
  });
});

const RSA = `hash: 'SHA-256', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1)`;
/** Parameters that make a key pair, import it, and sign with it. */
const SIGNING: [name: string, generate: string, importing: string, signing: string][] = [
  [
    'RSASSA-PKCS1-v1_5',
    `{ name: 'RSASSA-PKCS1-v1_5', ${RSA} }`,
    `{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }`,
    `'RSASSA-PKCS1-v1_5'`,
  ],
  [
    'RSA-PSS',
    `{ name: 'RSA-PSS', ${RSA} }`,
    `{ name: 'RSA-PSS', hash: 'SHA-256' }`,
    `{ name: 'RSA-PSS', saltLength: 32 }`,
  ],
  ...['P-256', 'P-384', 'P-521'].map((curve): [string, string, string, string] => [
    `ECDSA ${curve}`,
    `{ name: 'ECDSA', namedCurve: '${curve}' }`,
    `{ name: 'ECDSA', namedCurve: '${curve}' }`,
    `{ name: 'ECDSA', hash: 'SHA-512' }`,
  ]),
  ['Ed25519', `'Ed25519'`, `'Ed25519'`, `'Ed25519'`],
];

/** Runs a snippet here, on Node's own Web Crypto. */
function outside(body: string): Promise<unknown> {
  const AsyncFunction = (async () => undefined).constructor as new (body: string) => () => Promise<unknown>;
  return new AsyncFunction(
    `const { subtle } = crypto; const text = (string) => new TextEncoder().encode(string); ${body}`,
  )();
}

describe('results of one side are valid on the other', () => {
  const places = [
    ['inside', 'outside'],
    ['outside', 'inside'],
  ] as const;
  const at = (place: 'inside' | 'outside', body: string) =>
    place === 'inside' ? cell.run(body) : outside(body);

  for (const [name, generate, importing, signing] of SIGNING) {
    test.each(places)(`${name} signed %s, verified %s, from every format of a key`, async (here, there) => {
      const made = await at(
        here,
        `const { privateKey, publicKey } = await subtle.generateKey(${generate}, true, ['sign', 'verify']);
         const out = { jwk: await subtle.exportKey('jwk', publicKey), spki: [...new Uint8Array(await subtle.exportKey('spki', publicKey))] };
         const signatures = [];
         for (const format of ['jwk', 'pkcs8']) {
           const again = await subtle.importKey(format, await subtle.exportKey(format, privateKey), ${importing}, false, ['sign']);
           signatures.push([...new Uint8Array(await subtle.sign(${signing}, again, text('message')))]);
         }
         return { ...out, signatures };`,
      );
      const verified = await at(
        there,
        `const { jwk, spki, signatures } = ${JSON.stringify(made)};
         const results = [];
         for (const [format, data] of [['jwk', jwk], ['spki', new Uint8Array(spki)]]) {
           const key = await subtle.importKey(format, data, ${importing}, true, ['verify']);
           for (const signature of signatures) {
             results.push(await subtle.verify(${signing}, key, new Uint8Array(signature), text('message')));
             results.push(await subtle.verify(${signing}, key, new Uint8Array(signature), text('forged')));
           }
         }
         return results;`,
      );
      expect(verified).toEqual([true, false, true, false, true, false, true, false]);
    });
  }

  test.each(places)('RSA-OAEP with a label, encrypted %s, decrypted %s', async (here, there) => {
    const keys = await at(
      there,
      `const { privateKey, publicKey } = await subtle.generateKey({ name: 'RSA-OAEP', ${RSA} }, true, ['encrypt', 'decrypt']);
       return { privateKey: await subtle.exportKey('jwk', privateKey), publicKey: await subtle.exportKey('jwk', publicKey) };`,
    );
    const sealed = await at(
      here,
      `const key = await subtle.importKey('jwk', ${JSON.stringify((keys as { publicKey: object }).publicKey)}, { name: 'RSA-OAEP', hash: 'SHA-256' }, false, ['encrypt']);
       return [...new Uint8Array(await subtle.encrypt({ name: 'RSA-OAEP', label: text('label') }, key, text('secret')))];`,
    );
    expect(
      await at(
        there,
        `const key = await subtle.importKey('jwk', ${JSON.stringify((keys as { privateKey: object }).privateKey)}, { name: 'RSA-OAEP', hash: 'SHA-256' }, false, ['decrypt']);
         return new TextDecoder().decode(await subtle.decrypt({ name: 'RSA-OAEP', label: text('label') }, key, new Uint8Array(${JSON.stringify(sealed)})));`,
      ),
    ).toBe('secret');
  });

  test.each([
    `{ name: 'ECDH', namedCurve: 'P-256' }`,
    `{ name: 'ECDH', namedCurve: 'P-384' }`,
    `{ name: 'ECDH', namedCurve: 'P-521' }`,
    `'X25519'`,
  ])('%s derives the same secret on both sides', async (algorithm) => {
    const name = /'([^']+)'/.exec(algorithm)?.[1];
    const pair = `const pair = await subtle.generateKey(${algorithm}, true, ['deriveBits']); const out = async (key, format) => [...new Uint8Array(await subtle.exportKey(format, key))];`;
    const mine = (await outside(
      `${pair} return { own: await out(pair.privateKey, 'pkcs8'), raw: await out(pair.publicKey, 'raw') };`,
    )) as {
      own: number[];
      raw: number[];
    };
    const derive = (raw: number[]) =>
      `const other = await subtle.importKey('raw', new Uint8Array(${JSON.stringify(raw)}), ${algorithm}, true, []);
         const secret = [...new Uint8Array(await subtle.deriveBits({ name: '${name}', public: other }, pair.privateKey, 256))];`;
    const theirs = (await cell.run(
      `${pair} ${derive(mine.raw)} return { raw: await out(pair.publicKey, 'raw'), secret };`,
    )) as {
      raw: number[];
      secret: number[];
    };
    const secret = await outside(
      `const pair = { privateKey: await subtle.importKey('pkcs8', new Uint8Array(${JSON.stringify(mine.own)}), ${algorithm}, false, ['deriveBits']) }; ${derive(theirs.raw)} return secret;`,
    );
    expect(theirs.secret).toEqual(secret);
  });

  test.each(places)('AES in every mode and size, encrypted %s, decrypted %s', async (here, there) => {
    const modes = `[{ name: 'AES-GCM', iv: new Uint8Array(12), tagLength: 96 }, { name: 'AES-CBC', iv: new Uint8Array(16) }, { name: 'AES-CTR', counter: new Uint8Array(16), length: 128 }]`;
    const sealed = await at(
      here,
      `const out = [];
       for (const length of [128, 192, 256]) for (const mode of ${modes}) {
         const key = await subtle.generateKey({ name: mode.name, length }, true, ['encrypt']);
         out.push([await subtle.exportKey('jwk', key), [...new Uint8Array(await subtle.encrypt(mode, key, text('plain ' + length)))]]);
       }
       return out;`,
    );
    expect(
      await at(
        there,
        `const out = [];
         for (const [jwk, bytes] of ${JSON.stringify(sealed)}) {
           delete jwk.key_ops;
           const mode = ${modes}.find(({ name }) => jwk.alg.endsWith(name.slice(4)));
           const key = await subtle.importKey('jwk', jwk, mode.name, false, ['decrypt']);
           out.push(new TextDecoder().decode(await subtle.decrypt(mode, key, new Uint8Array(bytes))));
         }
         return out;`,
      ),
    ).toEqual([128, 192, 256].flatMap((length) => Array(3).fill(`plain ${length}`)));
  });
});

test('bytes are copied right after the algorithm was read, and not later', async () => {
  expect(
    await cell.run(`
      const data = text('abc');
      const during = subtle.digest({ get name() { data[0] = 98; return 'SHA-1'; } }, data);
      const expected = hex(await subtle.digest('SHA-1', text('bbc')));
      const after = subtle.digest('SHA-1', data);
      data[0] = 97;
      const moved = text('bbc');
      const transferred = subtle.digest('SHA-1', moved);
      moved.buffer.transfer();
      const gone = subtle.digest('SHA-1', moved);
      const iv = new Uint8Array(12);
      const key = await subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt']);
      const sealing = subtle.encrypt({ name: 'AES-GCM', iv }, key, data);
      iv[0] = 1;
      return [
        (await Promise.all([during, after, transferred])).map((bytes) => hex(bytes) === expected), hex(await gone),
        hex(await sealing) === hex(await subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, data)),
      ];`),
  ).toEqual([[true, true, true], 'da39a3ee5e6b4b0d3255bfef95601890afd80709', true]);
});
