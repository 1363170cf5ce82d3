/** Names of parts of a form: remembered names are the same as names that are read. */
import { expect, test } from 'vitest';
import { partName } from '../../../../src/host/http/public/multipart.ts';

const head = (parameters: string): string => `content-disposition: form-data; ${parameters}`;

test('a repeated head has the same name each time', () => {
  const names = [1, 2, 3].map(() => [partName(head('name="event"')), partName(head('name=environment'))]);
  expect(names).toEqual(Array(3).fill(['event', 'environment']));
});

test('attack: ever new heads between two of a kind: each is read, and none has the name of another', () => {
  for (let i = 0; i < 1_000; i++) {
    expect(partName(head(`name="n${i}"`))).toBe(`n${i}`);
    expect(partName(head('name="event"'))).toBe('event');
  }
});

test('an ambiguous head has no name, however often it is sent', () => {
  const twice = head('name="event"; name="environment"');
  expect([partName(twice), partName(twice)]).toEqual([undefined, undefined]);
});
