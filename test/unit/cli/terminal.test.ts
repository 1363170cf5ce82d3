/**
 * What reaches a terminal: no control character of a service, no style where none is wanted, and
 * nothing after the reader has gone.
 */
import { Readable, Writable } from 'node:stream';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { Output, paint } from '../../../src/cli/terminal/output.ts';
import { inWords, LOG_SETTINGS } from '../../../src/host/service-log.ts';
import { plainText, safeJson } from '../../../src/model/plain-text.ts';

/** Clears the screen, sets the title, rewrites a line, turns the reading order, in C0 and C1. */
const HOSTILE = '\x1b[2J\x1b]0;pwned\x07ok\rno\x9b31m\u202egnp\u2066\x7f\u2028end';

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

class SlowSink extends Sink {
  override _write(chunk: Buffer, encoding: string, done: () => void): void {
    super._write(chunk, encoding, () => setImmediate(done));
  }
}

function outputs({ json = false, colours = false, terminal = false, slow = false } = {}) {
  const [stdout, stderr] = [slow ? new SlowSink({ highWaterMark: 1 }) : new Sink(), new Sink()];
  const both = { stdout: colours, stderr: colours };
  const isTerminal = { stdout: terminal, stderr: terminal };
  const output = new Output({
    ...{ stdout, stderr, json, isTerminal, colours: both },
    brokenPipe: () => undefined,
  });
  return { stdout, stderr, output };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/u;

describe('text of a service', () => {
  test('is shown without what controls a terminal', () => {
    expect(plainText(HOSTILE)).not.toMatch(CONTROL);
    expect(plainText(HOSTILE)).toContain('ok\\u000dno');
    expect(plainText('two\r\nlines\tand a tab: ü 漢 👩‍👩‍👧')).toBe('two\nlines\tand a tab: ü 漢 👩‍👩‍👧');
  });

  test('is harmless in lines, tables, styles and on standard error', () => {
    const { stdout, stderr, output } = outputs({ colours: true });
    output.line(HOSTILE, paint('bold', HOSTILE));
    output.table(['A', 'B'], [[HOSTILE, paint('red', `${HOSTILE}\nnext`)]]);
    output.talk(paint('red', HOSTILE));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the styles of the output itself.
    const own = /\x1b\[(\d+)m/g;
    expect(stdout.text.replaceAll(own, '')).not.toMatch(CONTROL);
    expect(stderr.text.replaceAll(own, '')).not.toMatch(CONTROL);
    expect(new Set([...stdout.text.matchAll(own)].map(([, code]) => code))).toEqual(
      new Set(['0', '1', '2', '31']),
    );
  });

  test('cannot forge a second row of a table', () => {
    const { stdout, output } = outputs();
    output.table(['NAME'], [['one\ntwo']]);
    expect(stdout.text).toBe('NAME\none two\n');
  });

  test('is exact in JSON, and harmless there too', () => {
    const { stdout, output } = outputs({ json: true });
    output.result({ title: HOSTILE }, () => undefined);
    expect(stdout.text).not.toMatch(CONTROL);
    expect(JSON.parse(stdout.text)).toEqual({ title: HOSTILE });
    expect(JSON.parse(safeJson('\u{e0041}\u{10ffff}'))).toBe('\u{e0041}\u{10ffff}');
  });
});

describe('bytes of others', () => {
  const bytes = Buffer.from(`${HOSTILE}\r\nü\x1b[1mbold\x1b[8mhidden\x1b[0m`);
  const pieces = (length: number) =>
    [...bytes.keys()].filter((at) => at % length === 0).map((at) => bytes.subarray(at, at + length));
  const withoutStyles = plainText(String(bytes));

  test.each([1, 2, 3, 5, bytes.length])(
    'are harmless on a terminal, in pieces of %i bytes',
    async (length) => {
      const { stdout, output } = outputs({ terminal: true });
      for (const piece of pieces(length)) await output.raw(piece);
      output.end();
      expect(stdout.text).toBe(withoutStyles);
      expect(stdout.text).not.toMatch(CONTROL);
    },
  );

  test.each([1, 2, 3, 5, bytes.length])(
    'of a program keep their styles, in pieces of %i bytes',
    async (length) => {
      const { stdout, output } = outputs({ terminal: true, colours: true });
      await output.copy(Readable.from(pieces(length)), 'stdout');
      const shown = withoutStyles.replace('\\u001b[1m', '\x1b[1m').replace(/\\u001b\[0m$/, '\x1b[0m');
      expect(stdout.text).toBe(shown);
      expect(shown).toContain('\x1b[1mbold\\u001b[8mhidden\x1b[0m');
    },
  );

  test('are as they are where no terminal is', async () => {
    const { stdout, output } = outputs({ colours: true });
    await output.raw(bytes);
    await output.copy(Readable.from([bytes]), 'stdout');
    output.end();
    expect(stdout.text).toBe(`${bytes}${bytes}`);
  });

  test('that break off within a character are shown before the next line', async () => {
    const { stdout, output } = outputs({ terminal: true });
    await output.raw(Buffer.from([0x61, 0xc2]));
    output.line('next');
    expect(stdout.text).toBe('a\ufffdnext\n');
  });
});

test('a long output leaves no listener on a stream that is slow', async () => {
  const { stdout, output } = outputs({ terminal: true, slow: true });
  const listeners = () => stdout.eventNames().map((name) => [name, stdout.listenerCount(name)]);
  const before = listeners();
  for (let piece = 0; piece < 20; piece += 1) await output.raw(Buffer.from('text'));
  await output.copy(Readable.from(Array<Buffer>(20).fill(Buffer.from('text'))), 'stdout');
  expect(listeners()).toEqual(before);
});

test('a style that there is not is none', () => {
  const { stdout, output } = outputs({ colours: true });
  output.line(paint('constructor' as 'bold', 'word'));
  expect(stdout.text).toBe('word\n');
});

test('a question and a line of a log are harmless', () => {
  const { stdout, stderr, output } = outputs({ terminal: true });
  output.ask(`Value of ${HOSTILE}: `);
  output.logged(`${JSON.stringify({ msg: HOSTILE })}\n`);
  expect(stderr.text).not.toMatch(CONTROL);
  expect(stdout.text).not.toMatch(CONTROL);
  expect(JSON.parse(stdout.text)).toEqual({ msg: HOSTILE });
});

test('the log of a service has no control character, whoever reads it', () => {
  const lines = new Sink();
  pino(LOG_SETTINGS, lines).error({ err: new Error(HOSTILE), name: HOSTILE }, HOSTILE);
  expect(lines.text).not.toMatch(CONTROL);
  expect(JSON.parse(lines.text)).toMatchObject({ msg: HOSTILE, err: { message: HOSTILE } });
});

test('a line of a log in words has its time, level, message, details and cause', () => {
  const line = {
    time: Date.parse('2026-01-02T03:04:05'),
    pid: 1,
    hostname: 'h',
    name: 'annex',
    msg: 'it ended',
  };
  const err = { message: `why ${HOSTILE}` };
  expect(inWords(JSON.stringify({ ...line, level: 30, url: 'http://a', n: [1] }))).toBe(
    '03:04:05 it ended  url http://a  n [1]\n',
  );
  const words = inWords(JSON.stringify({ ...line, level: 50, err }));
  expect(words).toMatch(/^03:04:05 error: it ended: why /);
  expect(words.trimEnd()).not.toMatch(CONTROL);
});

test('without colours no escape sequence is written', () => {
  const { stdout, output } = outputs();
  output.line(paint('bold', 'name'));
  expect(stdout.text).toBe('name\n');
});

test('a reader that has gone ends the command quietly', async () => {
  const gone = Promise.withResolvers<void>();
  const broken = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  });
  const stderr = new Sink();
  const neither = { stdout: false, stderr: false };
  const output = new Output({
    ...{ stdout: broken, stderr, json: true, isTerminal: neither, colours: neither },
    brokenPipe: gone.resolve,
  });
  await output.item({ line: 1 }, () => undefined);
  await gone.promise;
  await output.item({ line: 2 }, () => undefined);
  expect(stderr.text).toBe('');
});

test('a slow reader slows a stream', async () => {
  const waiting: (() => void)[] = [];
  const slow = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => void waiting.push(done),
  });
  const neither = { stdout: false, stderr: false };
  const output = new Output({
    ...{ stdout: slow, stderr: new Sink(), json: true, isTerminal: neither, colours: neither },
    brokenPipe: () => undefined,
  });
  let isDone = false;
  const item = output
    .item({ line: 1 }, () => undefined)
    .then(() => {
      isDone = true;
    });
  await Promise.resolve();
  expect(isDone).toBe(false);
  waiting.shift()?.();
  await item;
  expect(isDone).toBe(true);
});
