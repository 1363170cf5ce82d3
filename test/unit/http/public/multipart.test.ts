/**
 * The multipart reader of envelopes: names of parts, and agreement with a general parser.
 */
import { Busboy } from '@fastify/busboy';
import { describe, expect, test } from 'vitest';
import { boundaryOf, readMultipart } from '../../../../src/host/http/public/multipart.ts';
import { Chance } from '../../../support/fuzz/chance.ts';
import { cpuMs } from '../../../support/measure/cpu-time.ts';

const CASES = 2_000;

interface Sent {
  readonly head: string;
  readonly bytes: Buffer;
}

const bodyOf = (parts: readonly Sent[], boundary = 'b'): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ head, bytes }) => [
      Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
      bytes,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);

/** Name of the only part with this head; undefined if the reader refuses it. */
function nameOf(head: string): string | undefined {
  try {
    return readMultipart(bodyOf([{ head, bytes: Buffer.from('x') }]), 'b')[0]?.name;
  } catch {
    return undefined;
  }
}

describe('the name of a part', () => {
  // Attack: a file that is forwarded in an envelope, and becomes the event or the environment by
  // its file name.
  test.each([
    ['form-data; name="fetch-body"; filename="; name=environment"', 'fetch-body'],
    ['form-data; filename="; name=environment"; name="fetch-body"', 'fetch-body'],
    ['form-data; filename="; name=environment;"; name=fetch-body', 'fetch-body'],
    ['form-data; filename="; name=environment"', undefined],
    ['form-data; x-name=environment; name="fetch-body"', 'fetch-body'],
    // Browsers escape a quote and a line break like this; they stay as they are.
    ['form-data; name="a%22; name=b%0D%0A"', 'a%22; name=b%0D%0A'],
  ])('is never found within a quoted string: %s', (value, name) => {
    expect(nameOf(`content-disposition: ${value}`)).toBe(name);
  });

  test.each(['form-data; name="first"', 'Form-Data ;NAME=first ; x="second" ;'])(
    'is found in any notation: %s',
    (value) => expect(nameOf(`Content-Disposition:${value}`)).toBe('first'),
  );

  // Names that two parsers could read in two ways, one of them an integration's or a proxy's.
  test.each([
    ['two names', 'content-disposition: form-data; name="x"; name="y"'],
    ['an extended name', "content-disposition: form-data; name=x; name*=utf-8''y"],
    ['a name in pieces', 'content-disposition: form-data; name=x; name*0=y; name*1=z'],
    ['a byte order mark', 'content-disposition: form-data; name="\ufeffx"'],
    ['a quote after a backslash', 'content-disposition: form-data; filename="\\"; name="x"; y=\\""'],
    ['a string without end', 'content-disposition: form-data; name="x'],
    ['text after a string', 'content-disposition: form-data; name="x"y'],
    ['no form-data', 'content-disposition: attachment; name="x"'],
    ['a longer word than form-data', 'content-disposition: form-dataset; name="x"'],
    [
      'two of the header',
      'content-disposition: form-data; name="x"\r\ncontent-disposition: form-data; name="y"',
    ],
    ['a folded line', 'content-disposition: form-data; name=x\r\n y'],
    ['half a line break', 'x: y\ncontent-disposition: form-data; name="x"'],
    ['half a line break in a string', 'content-disposition: form-data; filename="\r"; name="x"'],
  ])('is refused if it is ambiguous: %s', (_what, head) => {
    expect(nameOf(head)).toBeUndefined();
  });

  // Attack: 8 KiB of head, for which quadratic matching would block the host's thread.
  test.each([';', ' ', '; a=', '; a="', '"', '; name'])('is found in linear time: many of "%s"', (piece) => {
    const head = `content-disposition: form-data${piece.repeat(Math.floor(8_000 / piece.length))}`;
    const work = () => {
      for (let i = 0; i < 20; i++) nameOf(head);
    };
    expect(cpuMs(work)).toBeLessThan(500);
  });
});

// Attack: a part whose head contains the next delimiter, so that another parser sees two parts.
test.each(['x: y\r\n--b\r\n', '--b\r\n'])('a boundary within the head of a part is refused: %j', (before) => {
  const body = Buffer.from(`--b\r\n${before}content-disposition: form-data; name="event"\r\n\r\nx\r\n--b--`);
  expect(() => readMultipart(body, 'b')).toThrow('within the headers');
});

test.each(['base64', 'quoted-printable', '', 'binary, base64'])(
  'an encoded part is refused: "%s"',
  (encoding) => {
    const head = `Content-Transfer-Encoding: ${encoding}\r\ncontent-disposition: form-data; name="event"`;
    const body = bodyOf([{ head, bytes: Buffer.from('e30=') }]);
    expect(() => readMultipart(body, 'b')).toThrow('has a Content-Transfer-Encoding');
  },
);

test.each(['7bit', '8bit', 'Binary '])('a part with an identity encoding is accepted: "%s"', (encoding) => {
  const head = `Content-Transfer-Encoding: ${encoding}\r\ncontent-disposition: form-data; name="event"`;
  expect(readMultipart(bodyOf([{ head, bytes: Buffer.from('{}') }]), 'b')).toHaveLength(1);
});

test('an empty part may share its last line break with the boundary', () => {
  const body = Buffer.from('--b\r\ncontent-disposition: form-data; name="event"\r\n\r\n--b--');
  expect(readMultipart(body, 'b')).toEqual([{ name: 'event', bytes: Buffer.alloc(0) }]);
});

/** Inputs of real clients: heads of undici, browsers and curl; bytes that look like multipart. */
function saneBody(random: Chance): { parts: Sent[]; boundary: string } {
  const boundary = random.pick(['b', '----formdata-undici-012345678901', 'a.b-c_d', "x'()+_,-./:=?y"]);
  const parts = Array.from({ length: random.below(6) + 1 }, (_, i) => {
    const name = `${random.pick(['event', 'fetch-body', 'a b', 'ümlaut', 'a%22b', '; name=x', 'a=b'])}-${i}`;
    const filename = random.pick([
      'x.txt',
      '',
      '; name=environment',
      'a;b',
      "it's",
      '=?',
      'naïve.txt',
      'C:\\x.txt',
    ]);
    const parameters = [`name="${name}"`, ...(random.once(2) ? [`filename="${filename}"`] : [])];
    if (random.once(3)) parameters.reverse();
    const lines = [
      `${random.pick(['content-disposition', 'Content-Disposition'])}: form-data; ${parameters.join('; ')}`,
    ];
    if (random.once(2))
      lines.push(`content-type: ${random.pick(['text/plain', 'application/octet-stream'])}`);
    if (random.once(4)) lines.reverse();
    const bytes = Buffer.from(
      Array.from({ length: random.below(8) }, () =>
        random.pick(['x', '\r\n', '--', '\r\n--', '\0', 'é', '"', '\r']),
      ).join(''),
    );
    return { head: lines.join('\r\n'), bytes };
  });
  return { parts, boundary };
}

function readWithBusboy(body: Buffer, contentType: string): Promise<[string, string][]> {
  return new Promise((resolve, reject) => {
    const found: [string, string][] = [];
    const reader = new Busboy({
      headers: { 'content-type': contentType },
      // Every part as a stream of bytes, as the reader of envelopes sees them.
      isPartAFile: () => true,
    });
    reader.on('file', (name, stream) => {
      const at = found.push([name, '']) - 1;
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => (found[at] = [name, Buffer.concat(chunks).toString('hex')]));
    });
    reader.on('finish', () => resolve(found));
    reader.on('error', reject);
    reader.end(body);
  });
}

test(`${CASES} sane bodies are read as @fastify/busboy reads them`, async () => {
  const random = new Chance(0xa22e);
  for (let i = 0; i < CASES; i++) {
    const { parts, boundary } = saneBody(random);
    const contentType = `multipart/form-data; boundary="${boundary}"`;
    expect(boundaryOf(contentType)).toBe(boundary);
    const body = bodyOf(parts, boundary);
    const ours = readMultipart(body, boundary).map(({ name, bytes }) => [
      Buffer.from(name, 'latin1').toString('utf8'),
      bytes.toString('hex'),
    ]);
    expect([i, ours]).toEqual([i, await readWithBusboy(body, contentType)]);
    expect(ours.map(([, bytes]) => bytes)).toEqual(parts.map(({ bytes }) => bytes.toString('hex')));
  }
});
