/**
 * Parses the answers on one connection as the strictest client: bytes that a lenient parser could
 * read differently throw.
 */
import assert from 'node:assert/strict';

export interface StrictAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~\da-z]+): ?([\t\x20-\x7e\x80-\xff]*)$/i;

/** All answers on a closed connection, in order. @throws if the bytes are anything else */
export function strictAnswers(bytes: Buffer): StrictAnswer[] {
  const text = bytes.toString('latin1');
  const answers: StrictAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    assert(headEnd >= 0, 'a head has no end');
    const [first = '', ...lines] = text.slice(at, headEnd).split('\r\n');
    const status = Number(STATUS_LINE.exec(first)?.[1]);
    assert(status > 0, `a status line is broken: ${first}`);
    const headers = lines.map((line): [string, string] => {
      const [, name, value] = HEADER_LINE.exec(line) ?? [];
      assert(name !== undefined && value !== undefined, `a header is broken: ${line}`);
      return [name.toLowerCase(), value];
    });
    const bodyAt = headEnd + 4;
    const { body, end } = readBody(text, bodyAt, status, headers);
    answers.push({ status, headers, body });
    at = end;
  }
  return answers;
}

const BODILESS = /^(1\d\d|204|304)$/;

function readBody(
  text: string,
  at: number,
  status: number,
  headers: StrictAnswer['headers'],
): { body: string; end: number } {
  const lengths = valuesOf(headers, 'content-length');
  const codings = valuesOf(headers, 'transfer-encoding');
  assert(lengths.length + codings.length <= 1, 'the length of a body is given twice');
  // An answer to HEAD has only a head; the next answer follows it.
  if (BODILESS.test(String(status)) || text.length === at || text.startsWith('HTTP/1.1 ', at))
    return { body: '', end: at };
  if (codings.length > 0) {
    assert.deepEqual(codings, ['chunked']);
    return readChunks(text, at);
  }
  if (lengths.length === 0) return { body: text.slice(at), end: text.length };
  assert.match(lengths[0] ?? '', /^\d{1,9}$/);
  const end = at + Number(lengths[0]);
  assert(end <= text.length, 'a body is shorter than announced');
  return { body: text.slice(at, end), end };
}

function readChunks(text: string, from: number): { body: string; end: number } {
  let body = '';
  for (let at = from; ; ) {
    const [, size] = /^([\da-f]{1,8})\r\n/i.exec(text.slice(at, at + 10)) ?? [];
    assert(size !== undefined, 'a chunk has no size');
    const bytesAt = at + size.length + 2;
    const bytesEnd = bytesAt + Number.parseInt(size, 16);
    assert.equal(text.slice(bytesEnd, bytesEnd + 2), '\r\n', 'a chunk has no end');
    body += text.slice(bytesAt, bytesEnd);
    at = bytesEnd + 2;
    if (bytesEnd === bytesAt) return { body, end: at };
  }
}

export const valuesOf = (headers: StrictAnswer['headers'], name: string): string[] =>
  headers.filter(([candidate]) => candidate === name).map(([, value]) => value);
