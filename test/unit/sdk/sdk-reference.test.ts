/**
 * The descriptions of the SDK: every export and every member has one, as editors show them, and the
 * reference page has them all.
 */
import { beforeAll, expect, test } from 'vitest';
import { sdkDeclarations } from '../../../packages/sdk/declarations.ts';
import { type SdkExport, sdkExports, sdkReference } from '../../support/sdk/sdk-reference.ts';

let declarations: string;
let all: readonly SdkExport[];
beforeAll(async () => {
  declarations = await sdkDeclarations();
  all = sdkExports(declarations);
});

const names = (found: readonly SdkExport[]): string[] => found.map(({ name }) => name);

test('the reference page is that of the sources', async () => {
  await expect(sdkReference(declarations)).toMatchFileSnapshot('../../../docs/sdk-reference.md');
});

test('every export is described', () => {
  expect(all.length).toBeGreaterThan(70);
  expect(names(all.filter(({ doc }) => !doc.some((line) => /^\w|^`/.test(line))))).toEqual([]);
});

test('every function and class has an example', () => {
  const code = all.filter(({ kind }) => kind === 'function' || kind === 'class');
  expect(code.length).toBeGreaterThan(15);
  expect(names(code.filter(({ doc }) => !doc.some((line) => line.startsWith('@example'))))).toEqual([]);
});

test('every member that authors use is described', () => {
  // Bodies of the API's own schemas are described where the API is.
  const own = all.filter(({ name, kind }) => kind === 'interface' && !name.startsWith('Api'));
  const missing = own.flatMap(({ name, declaration }) => {
    const lines = declaration.split('\n');
    return lines
      .filter(
        (line, at) => /^ {4}(?:readonly )?[\w$]+\??[:(]/.test(line) && !lines[at - 1]?.trim().endsWith('*/'),
      )
      .map((line) => `${name}: ${line.trim()}`);
  });
  expect(missing).toEqual([]);
});
