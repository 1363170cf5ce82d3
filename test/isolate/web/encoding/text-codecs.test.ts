/**
 * Text codecs inside an isolate: TextEncoder, TextDecoder, atob, btoa; compared with those of Node.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

/** Byte sequences around every boundary of UTF-8, well-formed and not. */
const SEQUENCES: number[][] = [
  [],
  [0x61, 0x62],
  [0xc3, 0xbc],
  [0xe2, 0x82, 0xac],
  [0xf0, 0x9f, 0x98, 0x80],
  [0xef, 0xbb, 0xbf, 0x61],
  [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf],
  [0xc0, 0xaf],
  [0xe0, 0x80, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf],
  [0xe2, 0x82],
  [0xe2, 0x82, 0x61],
  [0xf0, 0x9f, 0x98, 0xc3, 0xbc],
  [0xff, 0x61, 0x80],
];

test('UTF-8 decodes as in Node, whole and byte by byte', async () => {
  const inside = await isolate.run(`return ${JSON.stringify(SEQUENCES)}.map((bytes) => {
    const decoder = new TextDecoder();
    const pieces = bytes.map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true })).join('') + decoder.decode();
    return [new TextDecoder().decode(new Uint8Array(bytes)), pieces];
  })`);
  expect(inside).toEqual(
    SEQUENCES.map((bytes) => {
      const text = new TextDecoder().decode(new Uint8Array(bytes));
      return [text, text];
    }),
  );
});

test('a fatal decoder refuses exactly the malformed input, and can be used again', async () => {
  const inside = await isolate.run(`
    const decoder = new TextDecoder('utf-8', { fatal: true });
    return ${JSON.stringify(SEQUENCES)}.map((bytes) => {
      try { decoder.decode(new Uint8Array(bytes)); return true; } catch (error) { return error.name; }
    })`);
  expect(inside).toEqual(
    SEQUENCES.map((bytes) => {
      try {
        new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(bytes));
        return true;
      } catch {
        return 'TypeError';
      }
    }),
  );
});

test('strings of every kind of character encode as in Node', async () => {
  const texts = [
    '',
    'plain',
    'ü',
    '€',
    '😀',
    '\ud83d',
    '\ude00x',
    'a\ud83db',
    'x'.repeat(5000),
    '€'.repeat(5000),
  ];
  const inside = await isolate.run(
    `return ${JSON.stringify(texts)}.map((text) => new TextEncoder().encode(text).toHex())`,
  );
  expect(inside).toEqual(texts.map((text) => Buffer.from(new TextEncoder().encode(text)).toString('hex')));
});

test('a long text with a character across the border of two chunks survives', async () => {
  for (const length of [4094, 4095, 4096, 4097, 8191]) {
    expect(
      await isolate.run(`const text = 'a'.repeat(${length}) + '😀ü' + 'b'.repeat(5000);
        return new TextDecoder().decode(new TextEncoder().encode(text)) === text`),
    ).toBe(true);
  }
});

test('a long malformed text is as in Node, wherever a chunk of it ends', async () => {
  const patterns = [
    [0xe2],
    [0xf0, 0x9f, 0x98, 0xc3],
    [0xf0, 0x9f, 0x98, 0x80, 0xff],
    [0xed, 0xa0, 0x80, 0x61],
  ];
  const make = (pattern: number[], shift: number) =>
    Array.from({ length: 9000 + shift }, (_, i) => pattern[(i + shift) % pattern.length] as number);
  for (const pattern of patterns) {
    for (const shift of [0, 1, 2, 3]) {
      const bytes = make(pattern, shift);
      expect(
        await isolate.run(
          `return new TextDecoder().decode(Uint8Array.fromHex('${Buffer.from(bytes).toString('hex')}'))`,
        ),
      ).toBe(new TextDecoder().decode(new Uint8Array(bytes)));
    }
  }
});

test('encodeInto stops before a character that does not fit', async () => {
  expect(
    await isolate.run(`return [2, 3, 4, 5, 6, 7, 8].map((room) => {
      const target = new Uint8Array(room);
      const { read, written } = new TextEncoder().encodeInto('aü😀b', target);
      return [read, written];
    })`),
  ).toEqual([
    [1, 1],
    [2, 3],
    [2, 3],
    [2, 3],
    [2, 3],
    [4, 7],
    [5, 8],
  ]);
});

test('other labels: UTF-16 and single-byte decode, unknown ones and replacements are a RangeError', async () => {
  expect(
    await isolate.run(`
      const name = (label) => { try { return new TextDecoder(label).encoding; } catch (error) { return error.name; } };
      return [
        new TextDecoder('utf-16').decode(new Uint8Array([0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0, 0xde])),
        new TextDecoder('utf-16be').decode(new Uint8Array([0, 0x61, 0xd8])),
        new TextDecoder('latin1').decode(new Uint8Array([0x80, 0xe9])),
        new TextDecoder('x-user-defined').decode(new Uint8Array([0x41, 0x80, 0xff])),
        ['  UTF8 ', 'ascii', 'koi8-r', 'csShiftJIS', 'chinese', 'big5-hkscs', 'ks_c_5601-1987', 'unicode'].map(name),
        ['replacement', 'hz-gb-2312', 'iso-2022-kr', 'utf-7', 'no such', '\\u000butf-8', 'utf-8\\0', ''].map(name),
      ]`),
  ).toEqual([
    'a😀',
    'a\ufffd',
    '€é',
    'A\uf780\uf7ff',
    ['utf-8', 'windows-1252', 'koi8-r', 'shift_jis', 'gbk', 'big5', 'euc-kr', 'utf-16le'],
    Array(8).fill('RangeError'),
  ]);
});

/** The single-byte encodings that Node decodes as in the standard. */
const SINGLE_BYTE =
  'ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 koi8-r koi8-u macintosh windows-874 windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 x-mac-cyrillic'.split(
    ' ',
  );

test('every byte of every single-byte encoding decodes as in Node, and is refused where it has no character', async () => {
  const everyByte = (label: string) => {
    const decoder = new TextDecoder(label, { fatal: true });
    return Array.from({ length: 256 }, (_, byte) => {
      try {
        return decoder.decode(new Uint8Array([byte]));
      } catch (error) {
        return (error as Error).name;
      }
    });
  };
  const inside = await isolate.run(`return ${JSON.stringify(SINGLE_BYTE)}.map(${everyByte.toString()})`);
  expect(inside).toEqual(SINGLE_BYTE.map(everyByte));
});

/** A text in each East Asian encoding. */
const EAST_ASIAN: [label: string, bytes: number[], text: string][] = [
  ['gbk', [0xc4, 0xe3, 0xba, 0xc3, 0x80], '你好€'],
  ['gb18030', [0xc4, 0xe3, 0x94, 0x39, 0xda, 0x33, 0xa6, 0xd9, 0x84, 0x31, 0x95, 0x33], '你💩\ufe10\ufeff'],
  ['big5', [0xa7, 0x41, 0xa6, 0x6e, 0x88, 0x62, 0x88, 0xa5], '你好Ê̄ê̌'],
  ['euc-jp', [0xa5, 0xc6, 0x8e, 0xb1, 0x8f, 0xb0, 0xa1], 'テｱ丂'],
  ['shift_jis', [0x83, 0x65, 0xb1, 0x5c, 0xf0, 0x40, 0x80], 'テｱ\\\ue000\x80'],
  ['euc-kr', [0xb0, 0xa1, 0x8c, 0x63], '가똠'],
  [
    'iso-2022-jp',
    [0x1b, 0x24, 0x42, 0x25, 0x46, 0x1b, 0x28, 0x4a, 0x5c, 0x1b, 0x28, 0x49, 0x31, 0x1b, 0x28, 0x42, 0x61],
    'テ¥ｱa',
  ],
];

test('the East Asian encodings decode whole and byte by byte, and can be used again', async () => {
  expect(
    await isolate.run(`return ${JSON.stringify(EAST_ASIAN)}.map(([label, bytes]) => {
      const decoder = new TextDecoder(label, { fatal: true });
      const pieces = bytes.map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true })).join('') + decoder.decode();
      return [decoder.encoding, decoder.decode(new Uint8Array(bytes)), pieces];
    })`),
  ).toEqual(EAST_ASIAN.map(([label, , text]) => [label, text, text]));
});

/** Malformed input and its text in the standard; a fatal decoder refuses it. */
const MALFORMED: [label: string, bytes: number[], text: string][] = [
  ['gbk', [0x81], '\ufffd'],
  ['gb18030', [0x81, 0x30], '\ufffd'],
  ['gb18030', [0x81, 0x30, 0x81, 0x41], '\ufffd0丄'],
  ['big5', [0x81, 0x40, 0x61], '\ufffd@a'],
  ['euc-jp', [0x8e, 0x20], '\ufffd '],
  ['shift_jis', [0xa0, 0xfd], '\ufffd\ufffd'],
  ['euc-kr', [0x80, 0xb0, 0x20], '\ufffd\ufffd '],
  ['iso-2022-jp', [0x1b, 0x24], '\ufffd$'],
  ['iso-2022-jp', [0x1b, 0x24, 0x42, 0x1b, 0x28, 0x42], '\ufffd'],
];

test('malformed East Asian text becomes U+FFFD without swallowing ASCII, or a TypeError', async () => {
  expect(
    await isolate.run(`return ${JSON.stringify(MALFORMED)}.map(([label, bytes]) => {
      let fatal;
      try { new TextDecoder(label, { fatal: true }).decode(new Uint8Array(bytes)); } catch (error) { fatal = error.name; }
      return [new TextDecoder(label).decode(new Uint8Array(bytes)), fatal];
    })`),
  ).toEqual(MALFORMED.map(([, , text]) => [text, 'TypeError']));
});

test('a byte order mark is dropped once for each text, unless ignoreBOM is set', async () => {
  expect(
    await isolate.run(`
      const bom = [0xef, 0xbb, 0xbf];
      const decoder = new TextDecoder();
      const split = [...bom, ...bom, 0x61].map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true })).join('');
      decoder.decode();
      return [split, decoder.decode(new Uint8Array(bom)), new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(bom)),
        new TextDecoder('gb18030').decode(new Uint8Array([0x84, 0x31, 0x95, 0x33]))]`),
  ).toEqual(['\ufeffa', '', '\ufeff', '\ufeff']);
});

test('a buffer that the options detach is empty, and any other value is a TypeError', async () => {
  expect(
    await isolate.run(`
      const bytes = new Uint8Array([0x61]);
      const text = new TextDecoder().decode(bytes, { get stream() { bytes.buffer.transfer(); return false; } });
      const refused = [null, 'a', 1, {}, [0x61]].map((input) => { try { return new TextDecoder().decode(input); } catch (error) { return error.name; } });
      return [text, refused, new TextEncoder().encodeInto('a', bytes)]`),
  ).toEqual(['', Array(5).fill('TypeError'), { read: 0, written: 0 }]);
});

test('TextEncoderStream joins a surrogate pair across chunks and replaces a lone surrogate', async () => {
  expect(
    await isolate.run(`
      const encode = async (chunks) => {
        const stream = new TextEncoderStream();
        const writer = stream.writable.getWriter();
        for (const chunk of chunks) void writer.write(chunk);
        void writer.close();
        const out = [];
        for await (const bytes of stream.readable) out.push(bytes.toHex());
        return out;
      };
      return [await encode(['a\\ud83d', '', '\\ude00b']), await encode(['\\ud83d']), await encode(['\\ud83d', 'x', '\\ude00']),
        await encode(['\\ud83d', '\\ud83d\\ude00']), await encode(['', 1, null])]`),
  ).toEqual([
    ['61', 'f09f988062'],
    ['efbfbd'],
    ['efbfbd78', 'efbfbd'],
    ['efbfbdf09f9880'],
    ['31', '6e756c6c'],
  ]);
});

test('TextDecoderStream decodes characters split over chunks of any kind, in any encoding', async () => {
  expect(
    await isolate.run(`
      const decode = async (chunks, ...args) => {
        const stream = new TextDecoderStream(...args);
        const writer = stream.writable.getWriter();
        for (const chunk of chunks) writer.write(chunk).catch(() => {});
        writer.close().catch(() => {});
        const out = [];
        try { for await (const text of stream.readable) out.push(text); } catch (error) { out.push(error.name); }
        return out;
      };
      const euro = [new Uint8Array([0xe2]), new Uint8Array([0x82]).buffer, new DataView(new Uint8Array([0xac, 0x61]).buffer)];
      return [
        await decode(euro), await decode([new Uint8Array([0xe2])]), await decode([new Uint8Array([0xe2])], 'utf-8', { fatal: true }),
        await decode([new Uint8Array([0x83]), new Uint8Array([0x65])], 'shift_jis'),
        await decode([new Uint8Array([0xef, 0xbb]), new Uint8Array([0xbf, 0x61])]),
        await decode([new Uint8Array([0xef, 0xbb, 0xbf, 0x61])], 'utf-8', { ignoreBOM: true }),
        await decode(['text']), await decode([undefined]),
      ]`),
  ).toEqual([['€a'], ['\ufffd'], ['TypeError'], ['テ'], ['a'], ['\ufeffa'], ['TypeError'], ['TypeError']]);
});

test('the streams of both codecs have the attributes of their interfaces', async () => {
  expect(
    await isolate.run(`
      const decoder = new TextDecoderStream('UTF-16', { fatal: 1 });
      const name = (run) => { try { run(); } catch (error) { return error.name; } };
      const get = (prototype, key) => Object.getOwnPropertyDescriptor(prototype, key).get;
      return [
        decoder.encoding, decoder.fatal, decoder.ignoreBOM, new TextEncoderStream().encoding,
        TextDecoderStream.name, TextDecoderStream.length, String(TextEncoderStream.prototype),
        name(() => get(TextEncoderStream.prototype, 'readable').call({})), name(() => get(TextDecoderStream.prototype, 'encoding').call({})),
        name(() => new TextDecoderStream('replacement')), name(() => TextEncoderStream()),
      ]`),
  ).toEqual([
    'utf-16le',
    true,
    false,
    'utf-8',
    'TextDecoderStream',
    0,
    '[object TextEncoderStream]',
    'TypeError',
    'TypeError',
    'RangeError',
    'TypeError',
  ]);
});

test('a write waits until the reader has taken the output of the one before', async () => {
  expect(
    await isolate.run(`
      const stream = new TextEncoderStream();
      const writer = stream.writable.getWriter();
      const log = [];
      const writing = Promise.all(['a', 'b'].map((text) => writer.write(text).then(() => log.push('wrote ' + text))));
      for (let i = 0; i < 50; i++) await undefined;
      const before = [...log];
      const reader = stream.readable.getReader();
      await reader.read();
      await reader.read();
      await writing;
      return [before, log]`),
  ).toEqual([[], ['wrote a', 'wrote b']]);
});

test('atob and btoa are forgiving where the standard is, and refuse the rest by name', async () => {
  expect(
    await isolate.run(`
      const attempt = (run) => { try { return run(); } catch (error) { return [error.name, error.code, error instanceof DOMException]; } };
      return [
        btoa('h\\u00e9llo'), atob('aGk='), atob(' aG\\nk'), atob(''), atob('ab'), btoa('x'.repeat(9000)).length,
        attempt(() => btoa('€')), attempt(() => atob('a')), attempt(() => atob('a==')), attempt(() => atob('a-b_')),
      ]`),
  ).toEqual(['aOlsbG8=', 'hi', 'hi', '', 'i', 12000, ...Array(4).fill(['InvalidCharacterError', 5, true])]);
});

test('atob and btoa of long texts go piece by piece, and agree with Node wherever a piece ends', async () => {
  const bytes = Buffer.from(Array.from({ length: 200_003 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
  const encoded = bytes.toString('base64');
  const spaced = encoded.replace(/(.{61})/g, '$1 \n\t');
  const blanks = ' '.repeat(100_000);
  const texts = [
    ...[
      encoded,
      spaced,
      encoded.replace(/=+$/, ''),
      `${encoded.slice(0, 1)}${blanks}${encoded.slice(1)}`,
      `${encoded}${blanks}`,
    ],
    ...[
      `${encoded}A`,
      `${encoded.slice(0, 65_536)}=${encoded.slice(65_536)}`,
      `${encoded.slice(0, -2)}=${blanks}=`,
    ],
    ...[
      `${encoded.slice(0, 70_000)}*${encoded.slice(70_000)}`,
      `QQ==${encoded}`,
      `${blanks}Q${blanks}`,
      `${blanks}QQ${blanks}`,
    ],
    ...['A'.repeat(65_537), 'A'.repeat(65_538), 'A'.repeat(65_536), `${encoded}\u0100`],
  ];
  const digest = (text: string) => [
    text.length,
    text.slice(0, 40),
    text.slice(-40),
    text.slice(65_500, 65_560),
  ];
  const expected = texts.map((text) => {
    try {
      return digest(atob(text));
    } catch (error) {
      return (error as Error).name;
    }
  });
  const binary = bytes.toString('latin1');
  expect(
    await isolate.run(`
      const digest = ${String(digest)};
      const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };
      return ${JSON.stringify(texts)}.map((text) => attempt(() => digest(atob(text))));`),
  ).toEqual(expected);
  expect(expected).toContain('InvalidCharacterError');
  expect(
    await isolate.run(`
      const binary = ${JSON.stringify(binary)};
      return [btoa(binary) === ${JSON.stringify(encoded)}, atob(btoa(binary)) === binary, (() => { try { btoa(binary + '\\u0100'); } catch (error) { return error.name; } })()];`),
  ).toEqual([true, true, 'InvalidCharacterError']);
});

test('attack: replaced built-ins do not change atob and btoa', async () => {
  const own = await createWebIsolate();
  try {
    expect(
      await own.run(`
        const long = 'abc'.repeat(40_000);
        const evil = () => 'evil';
        Uint8Array.fromBase64 = Uint8Array.prototype.toBase64 = Uint8Array.prototype.setFromBase64 = Uint8Array.prototype.subarray = evil;
        String.fromCharCode = String.prototype.charCodeAt = String.prototype.slice = String.prototype.indexOf = evil;
        Uint8Array = SyntaxError = Reflect.apply = undefined;
        Object.prototype.alphabet = 'base64url';
        Object.prototype.lastChunkHandling = 'strict';
        return [btoa('\\xfb\\xff'), atob('+/8'), atob(btoa(long)) === long, (() => { try { atob('*'); } catch (error) { return error.name; } })()];`),
    ).toEqual(['+/8=', '\u00fb\u00ff', true, 'InvalidCharacterError']);
  } finally {
    own.dispose();
  }
});
