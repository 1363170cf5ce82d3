/**
 * The parts of the web platform that are evaluated when they are first needed (`../parts/names.ts` lists them).
 *
 * A part runs after the tenant's script may have replaced any built-in, so it serves that tenant alone: nothing it makes
 * decides what leaves the isolate, and it is never handed a function of the bridge.
 */
import type { PARTS, PartName } from '../parts/names.ts';

interface Parts {
  deflate: typeof import('../parts/deflate.ts');
  'multi-byte': typeof import('../parts/multi-byte.ts');
  'single-byte': typeof import('../parts/single-byte.ts');
  streams: typeof import('../parts/streams.ts');
  url: typeof import('../parts/url.ts');
  urlpattern: typeof import('../parts/urlpattern.ts');
}

/** Indirect, so that a part sees the global scope alone; captured, so that it is the engine's. */
// biome-ignore lint/security/noGlobalEval: what it evaluates is ours; a script of the tenant never comes here.
const evaluate = eval as (text: string) => (needs: object | undefined) => unknown;
const sources: Record<string, string | undefined> = Object.create(null);
const loaded: { [Name in PartName]?: Parts[Name] } = Object.create(null);

/** Hands in the texts: each is a function that takes what its part needs of the prelude and returns the part's exports. */
export function setParts(names: typeof PARTS, texts: readonly string[]): void {
  for (let i = 0; i < names.length; i++) sources[names[i] as string] = texts[i];
}

/** The exports of a part. @param needs what it needs of the prelude; only the first to ask is heard */
export function part<Name extends PartName>(name: Name, needs?: object): Parts[Name] {
  loaded[name] ??= evaluate(sources[name] as string)(needs) as Parts[Name];
  return loaded[name] as Parts[Name];
}
