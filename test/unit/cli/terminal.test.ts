/**
 * What reaches a terminal: no control character of a service, no style where none is wanted, and
 * nothing after the reader has gone.
 */
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Output, paint } from '../../../src/cli/terminal/output.ts';
import { plainText, safeJson } from '../../../src/cli/terminal/plain-text.ts';

/** Clears the screen, sets the title, rewrites a line, turns the reading order, in C0 and C1. */
const HOSTILE = '\x1b[2J\x1b]0;pwned\x07ok\rno\x9b31m\u202egnp\u2066\x7f\u2028end';

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

function outputs({ json = false, colours = false } = {}) {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const both = { stdout: colours, stderr: colours };
  const output = new Output({ stdout, stderr, json, colours: both, brokenPipe: () => undefined });
  return { stdout, stderr, output };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/u;

describe('text of a service', () => {
  test('is shown without what controls a terminal', () => {
    expect(plainText(HOSTILE)).not.toMatch(CONTROL);
    expect(plainText(HOSTILE)).toContain('ok?no');
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
  const colours = { stdout: false, stderr: false };
  const output = new Output({ stdout: broken, stderr, json: true, colours, brokenPipe: gone.resolve });
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
  const colours = { stdout: false, stderr: false };
  const output = new Output({
    ...{ stdout: slow, stderr: new Sink(), json: true, colours },
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
