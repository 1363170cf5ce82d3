/**
 * The modules of Node.js that make bytes, in a bundle: each expression has the value, or throws the
 * error, that it has in the Node.js that runs the tests.
 */
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { evaluate } from '../../support/bundle/uploaded.ts';

/** Words for what an expression comes to: bytes in hexadecimal digits, or the error. */
const OUTCOME = `(use) => {
  try {
    const value = use();
    return value instanceof Uint8Array ? value.constructor.name + ' ' + value.toString('hex') : JSON.stringify(value) ?? String(value);
  } catch ({ name, code, message }) { return [name, code, message].join(' | '); }
}`;

const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  buffer: [
    ...['hex', 'base64', 'base64url', 'latin1', 'ascii', 'utf16le', 'ucs-2', 'UTF8', 'binary'].flatMap(
      (encoding) => [
        `Buffer.from('größer ?>\\u{1f600}', '${encoding}')`,
        `Buffer.from('größer ?>\\u{1f600}').toString('${encoding}')`,
        `Buffer.byteLength('größer ?>\\u{1f600}=', '${encoding}')`,
        `Buffer.alloc(7, 'größ', '${encoding}')`,
        `Buffer.from('a größer größ').indexOf('größ', 3, '${encoding}')`,
        `((b) => [b.write('a\\u{1f600}ßßßß', 1, 6, '${encoding}'), b])(Buffer.alloc(8))`,
      ],
    ),
    "Buffer.from('6 1')",
    "Buffer.from('616g', 'hex')",
    "Buffer.from('YQ-_ \\n+/ZZ=Zw', 'base64')",
    "Buffer.from([1, -1, 257, 'a', 3.9])",
    'Buffer.from(new Uint16Array([1, 258]).buffer, 1, 2)',
    'Buffer.from(new ArrayBuffer(2), 3)',
    "Buffer.from({ type: 'Buffer', data: [1, 2] })",
    'Buffer.from({ length: 2, 0: 5 })',
    "Buffer.from(new String('ab'))",
    'Buffer.from({})',
    'Buffer.from(5)',
    'Buffer.from(null)',
    "Buffer.from('a', 'nonsense')",
    'Buffer.alloc(-1)',
    "Buffer.alloc('5')",
    "Buffer.alloc(5, '')",
    'Buffer.concat([Buffer.from([1, 2]), Buffer.from([3])], 2)',
    "Buffer.concat(['a'])",
    'Buffer.concat(5)',
    "Buffer.compare(Buffer.from('a'), Buffer.from('b'))",
    "Buffer.compare('a', Buffer.from('b'))",
    "Buffer.from('abc').equals('abc')",
    "Buffer.from('abcdef').compare(Buffer.from('xabcx'), 1, 4, 0, 3)",
    "Buffer.from('abcdef').compare(Buffer.from('xabcx'), 1, 9)",
    "Buffer.from('abcabc').lastIndexOf('abc', -1)",
    "Buffer.from('abcabc').lastIndexOf('abc', 2)",
    "Buffer.from('abcabc').indexOf('', 9)",
    "Buffer.from('abcabc').includes(99, 3)",
    "Buffer.from('abc').indexOf({})",
    "((b) => [Buffer.from('abcdef').copy(b, 1, 2, 9), b])(Buffer.alloc(4))",
    "Buffer.from('abc').copy(Buffer.alloc(2), 0, 4)",
    "Buffer.from('abcdef').slice(-3, -1)",
    "Buffer.from('abcdef').subarray(1, 3)",
    "Buffer.from('abcdef').toString('latin1', '2', 4.9)",
    "Buffer.from('abc').toString('nonsense')",
    "Buffer.from('abc').write('a', 4)",
    "Buffer.from('abc').fill('ab', 1, 'hex')",
    "Buffer.from('abc').fill('x', 0, 9)",
    "Buffer.from('abcd').swap16()",
    "Buffer.from('abc').swap32()",
    "Buffer.from('abc').toJSON()",
    'Buffer.isEncoding(5)',
    'Buffer.isBuffer(new Uint8Array(1))',
    'Buffer.from([255, 255, 255, 255, 255, 255, 255, 255]).readBigInt64LE()',
    'Buffer.from([1, 2, 3, 4, 5, 6]).readUIntBE(0, 6)',
    'Buffer.from([255, 2, 3, 254, 5, 6]).readIntLE(1, 3)',
    'Buffer.from([1, 2, 3]).readUIntBE(0, 7)',
    'Buffer.from([1, 2, 3]).readInt32LE(0)',
    'Buffer.from([1, 2, 3]).readInt8(1.5)',
    "Buffer.from([1, 2, 3]).readUInt8('0')",
    'Buffer.from([64, 73, 15, 219, 0, 0, 0, 1]).readFloatBE(0)',
    'Buffer.alloc(2).writeUInt16BE(65536)',
    'Buffer.alloc(4).writeInt32BE(2 ** 31)',
    'Buffer.alloc(6).writeIntBE(-(2 ** 47) - 1, 0, 6)',
    'Buffer.alloc(8).writeBigUInt64LE(2n ** 64n)',
    '((b) => [b.writeDoubleLE(0.1, 0), b])(Buffer.alloc(8))',
    '((b) => [b.writeInt16LE(-2, 1), b])(Buffer.alloc(4))',
    "require('buffer').transcode(Buffer.from('€ß'), 'utf8', 'latin1')",
    "require('buffer').transcode(Buffer.from('a'), 'utf8', 'hex')",
    "[require('buffer').isUtf8(Buffer.from([195])), require('buffer').isAscii(Buffer.from('a'))]",
    "require('util').inspect(Buffer.alloc(52, 97))",
  ],
};

test.each(Object.keys(EXPRESSIONS))('%s comes to what it comes to in Node.js', async (name) => {
  const expressions = EXPRESSIONS[name] ?? [];
  const code = `const outcome = ${OUTCOME};\nmodule.exports = { default: [${expressions.map((one) => `() => ${one}`).join(',\n')}].map(outcome) };`;
  const module = { exports: { default: [] as string[] } };
  new Function('require', 'module', code)(createRequire(import.meta.url), module);
  const found = await evaluate<{ default: string[] }>({ 'index.js': code }, 'index.js');
  const outcomes = (all: readonly string[]) =>
    expressions
      .map((one, at) => `${one} => ${all[at]}`)
      .filter((_, at) => found.default[at] !== module.exports.default[at]);
  expect(outcomes(found.default)).toEqual(outcomes(module.exports.default));
});
