/**
 * The parts of the prelude: libraries and tables that an isolate has as text and evaluates at their
 * first use, because most integrations never need them (docs/decisions/library-parts.md).
 * `web/parts.ts` evaluates them.
 *
 * A part is one file of this folder, bundled by itself: it shares no module with the prelude, and
 * gets values of it as `needs`. The cell keeps each text once for all isolates; an unused part
 * costs an isolate nothing.
 */
export const PARTS = [
  ...(['streams', 'deflate', 'multi-byte', 'single-byte', 'url', 'urlpattern', 'data-url'] as const),
  ...(['performance-observer', 'webassembly'] as const),
] as const;

export type PartName = (typeof PARTS)[number];

/**
 * Replacements for modules that a part's library imports (esbuild's `alias`, paths relative to
 * `sandbox/`): 290 KB of Unicode and 150 KB of East Asian tables are left out.
 */
export const SUBSTITUTES: { readonly [Name in PartName]?: Readonly<Record<string, string>> } = {
  url: {
    tr46: './parts/url-needs.ts',
    '@exodus/bytes/encoding.js': './parts/url-needs.ts',
    '@exodus/bytes/whatwg.js': './parts/url-needs.ts',
  },
};

/**
 * Replacements for globals of a part's library, which the tenant may have changed
 * (esbuild's `define`).
 */
export const DEFINITIONS: { readonly [Name in PartName]?: Readonly<Record<string, string>> } = {
  url: { TextEncoder: 'needs.TextEncoder', TextDecoder: 'needs.TextDecoder' },
};
