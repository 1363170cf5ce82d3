/** Every element and attribute of ContentKit is described, for editors and the reference page. */
import { expect, test } from 'vitest';
import { ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';
import { referred, VALUES } from '../../../src/model/contentkit/contentkit-values.ts';

/** Its own description, or that of the value it refers to. */
const described = (schema: object): boolean => {
  const value = VALUES[referred(schema) ?? ''] ?? {};
  return /^\S.*[.]$/.test(String(('description' in schema ? schema : value)['description' as never] ?? ''));
};

test('each element and each attribute has a description, which is a sentence', () => {
  const missing = Object.entries(ELEMENTS).flatMap(([tag, kind]) => [
    ...(described(kind) ? [] : [tag]),
    ...Object.entries(kind.attributes)
      .filter(([, schema]) => !described(schema))
      .map(([name]) => `${tag} ${name}`),
  ]);
  expect(missing).toEqual([]);
});
