/**
 * What the bundle of the prelude puts in the place of modules it would otherwise drag in: esbuild's `alias`, with paths
 * relative to `sandbox/`. 290 KB of Unicode and 150 KB of East Asian tables stay outside. Nothing inside the isolate
 * imports this file.
 */
export const ALIASES = {
  tr46: './web/domain.ts',
  '@exodus/bytes/encoding.js': './web/percent-encode.ts',
  '@exodus/bytes/whatwg.js': './web/percent-encode.ts',
} as const;
