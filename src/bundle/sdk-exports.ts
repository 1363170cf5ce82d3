/**
 * "Did you mean …?" for an import of a name that the SDK does not export, which esbuild finds and has no guess about.
 */
import { nearest } from '../model/nearest.ts';
import type { Problem } from '../model/problem.ts';
import { SDK_SOURCE } from './sdk-source.ts';

const NO_EXPORT = /^No matching export in "(?:sdk:|@annex\/sdk\/)index\.ts" for import "([^"]+)"/;

/** Names of values; types are gone before anybody looks for them. The entry of the SDK is nothing but such lists. */
const EXPORTS: readonly string[] = [...(SDK_SOURCE.get('index.ts') ?? '').matchAll(/^export \{([^{}]*)\}/gm)]
  .flatMap(([, names = '']) => names.split(','))
  .map((name) => name.trim())
  .filter((name) => /^\w+$/.test(name));

/** The problem, with the name that was most likely meant. */
export function withExportHint(found: Problem): Problem {
  const [, name] = NO_EXPORT.exec(found.message) ?? [];
  const near = name === undefined ? undefined : nearest(name, EXPORTS);
  return near === undefined ? found : { ...found, hint: `Did you mean "${near}"?` };
}
