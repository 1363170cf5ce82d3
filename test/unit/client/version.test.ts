/** Versions: of the repository, of the client, and whether two of them agree. */
import { expect, test } from 'vitest';
import { VERSION as CLIENT, versionsAgree } from '../../../packages/client/src/index.ts';
import { VERSION } from '../../../src/version.ts';
import { read } from '../../support/repository/sources.ts';

test('the version is that of the package, and the client has the same', () => {
  expect(VERSION).toBe(JSON.parse(read('package.json')).version);
  expect(CLIENT).toBe(VERSION);
});

test('versions agree if their major and minor numbers are equal', () => {
  expect(versionsAgree('1.2.3', '1.2.9')).toBe(true);
  expect(versionsAgree('1.2.3', '1.2.0-beta.1')).toBe(true);
  expect(versionsAgree('1.2.3', '1.3.3')).toBe(false);
  expect(versionsAgree('1.2.3', '2.2.3')).toBe(false);
  expect(versionsAgree('1.2.3', '1.20.3')).toBe(false);
});
