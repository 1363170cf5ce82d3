/**
 * The parts of the prelude that are handed to an isolate as text and evaluated when they are first
 * needed: libraries and tables that most integrations never touch. `web/parts.ts` is how the rest
 * of the sandbox asks for one.
 *
 * A part is one file of this folder, bundled by itself: it shares no module with the prelude, and
 * finds what it needs of it in `needs`. The cell keeps each text once for all its isolates; one
 * that is not used costs an isolate nothing.
 */
export const PARTS = ['streams', 'deflate', 'multi-byte', 'single-byte', 'url', 'urlpattern'] as const;

export type PartName = (typeof PARTS)[number];

/**
 * What the bundle of a part puts in the place of modules that its library would otherwise drag in
 * (esbuild's `alias`, paths relative to `sandbox/`): 290 KB of Unicode and 150 KB of East Asian
 * tables stay outside.
 */
export const SUBSTITUTES: { readonly [Name in PartName]?: Readonly<Record<string, string>> } = {
  url: {
    tr46: './parts/url-needs.ts',
    '@exodus/bytes/encoding.js': './parts/url-needs.ts',
    '@exodus/bytes/whatwg.js': './parts/url-needs.ts',
  },
};

/**
 * Globals that a part's library finds elsewhere than on a global object the tenant may have changed
 * (esbuild's `define`).
 */
export const DEFINITIONS: { readonly [Name in PartName]?: Readonly<Record<string, string>> } = {
  url: { TextEncoder: 'needs.TextEncoder', TextDecoder: 'needs.TextDecoder' },
};
