/**
 * `fetch` events: which headers of a request are passed on, and the cost of parsing them.
 */
import { describe, expect, test } from 'vitest';
import { fetchEvent } from '../../../../src/host/http/public/fetch-event.ts';
import { partName } from '../../../../src/host/http/public/multipart.ts';
import type { Target } from '../../../../src/model/target.ts';
import { cpuMs } from '../../../support/measure/cpu-time.ts';

const TARGET = {
  installationId: 'ins_1',
  level: 'organization',
  publicEndpoint: 'https://hooks.example/key',
} as Target;
const headersOf = (headers: Record<string, string>): Record<string, string> =>
  JSON.parse(fetchEvent('evt', TARGET, { method: 'GET', pathAndQuery: '/x', headers }).toString()).request
    .headers;

describe('headers that `Connection` names', () => {
  test.each([
    'x-one,x-two',
    ' X-One ,\tx-two\t',
    'close, x-two , , x-one,',
    `${' '.repeat(100)},x-one${' '.repeat(100)},${' '.repeat(100)}x-two`,
  ])('are dropped: %j', (connection) => {
    const sent = { connection, 'x-one': '1', 'x-two': '2', 'x-three': '3' };
    expect(headersOf(sent)).toEqual({ 'x-three': '3' });
  });

  test.each(['keep-alive', 'x one', 'x-one;x-two', 'x-oneandmore'])('%j names none of them', (connection) => {
    expect(headersOf({ connection, 'x-one': '1' })).toEqual({ 'x-one': '1' });
  });
});

describe('attack: parsing blanks takes linear time', () => {
  const spent = (work: (blanks: string) => void, chars: number): number => {
    const blanks = ' '.repeat(chars);
    const rounds = () => {
      for (let round = 0; round < 5; round += 1) work(blanks);
    };
    rounds();
    return Math.min(...[1, 2, 3].map(() => cpuMs(rounds)));
  };

  test.each<[what: string, work: (blanks: string) => void]>([
    ['`Connection`', (blanks) => headersOf({ connection: `x${blanks}y` })],
    ['`Connection`, all commas', (blanks) => headersOf({ connection: blanks.replaceAll(' ', ',') })],
    ['the head of a part', (blanks) => partName(`content-disposition: form-data; name=x${blanks}y`)],
  ])('%s', (_, work) => {
    // Quadratic time would be 64 times as much for eight times the text.
    expect(spent(work, 64_000)).toBeLessThan(24 * (spent(work, 8_000) + 1));
  });
});
