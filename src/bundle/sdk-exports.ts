/**
 * Adds "Did you mean …?" to esbuild's error about an import that the SDK does not export.
 */

import { SDK_SOURCE } from '../imports/sdk-source.ts';
import type { Problem } from '../model/problem.ts';
import { nearest } from '../model/spelling-hint.ts';

const NO_EXPORT = /^No matching export in "(?:sdk:|@annex\/sdk\/)index\.ts" for import "([^"]+)"/;

/**
 * Names of exported values, read from the export lists of the SDK's entry. Types are erased before
 * esbuild resolves names.
 */
const EXPORTS: readonly string[] = [...(SDK_SOURCE.get('index.ts') ?? '').matchAll(/^export \{([^{}]*)\}/gm)]
  .flatMap(([, names = '']) => names.split(','))
  .map((name) => name.trim())
  .filter((name) => /^\w+$/.test(name));

/** Adds the nearest exported name as a hint, if there is one. */
export function withExportHint(found: Problem): Problem {
  const [, name] = NO_EXPORT.exec(found.message) ?? [];
  const near = name === undefined ? undefined : nearest(name, EXPORTS);
  return near === undefined ? found : { ...found, hint: `Did you mean "${near}"?` };
}
