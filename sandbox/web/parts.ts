/**
 * The parts of the web platform that are evaluated at their first use (`../parts/names.ts` lists
 * them; docs/decisions/library-parts.md).
 *
 * A part runs when the tenant may have replaced any built-in, so it serves that tenant only:
 * nothing it makes decides what leaves the isolate, and it never receives a function of the bridge.
 */
import type { PARTS, PartName } from '../parts/names.ts';

interface Parts {
  'data-url': typeof import('../parts/data-url.ts');
  deflate: typeof import('../parts/deflate.ts');
  'multi-byte': typeof import('../parts/multi-byte.ts');
  'single-byte': typeof import('../parts/single-byte.ts');
  'performance-observer': typeof import('../parts/performance-observer.ts');
  streams: typeof import('../parts/streams.ts');
  url: typeof import('../parts/url.ts');
  urlpattern: typeof import('../parts/urlpattern.ts');
  webassembly: typeof import('../parts/webassembly.ts');
}

/**
 * Indirect `eval`, so that a part sees the global scope only; captured, so that it is the engine's.
 */
// biome-ignore lint/security/noGlobalEval: evaluates texts of the prelude only
const evaluate = eval as (text: string) => (needs: object | undefined) => unknown;
const sources: Record<string, string | undefined> = Object.create(null);
const loaded: { [Name in PartName]?: Parts[Name] } = Object.create(null);

/**
 * Sets the texts of the parts: each is a function from what the part needs of the prelude to its
 * exports.
 */
export function setParts(names: typeof PARTS, texts: readonly string[]): void {
  for (let i = 0; i < names.length; i++) sources[names[i] as string] = texts[i];
}

/**
 * The exports of a part. @param needs values of the prelude for the part; used by the first call
 * only
 */
export function part<Name extends PartName>(name: Name, needs?: object): Parts[Name] {
  loaded[name] ??= evaluate(sources[name] as string)(needs) as Parts[Name];
  return loaded[name] as Parts[Name];
}
