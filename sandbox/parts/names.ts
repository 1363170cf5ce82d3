/**
 * The parts of the prelude that are handed to an isolate as text and evaluated when they are first needed: libraries and
 * tables that most integrations never touch. `web/parts.ts` is how the rest of the sandbox asks for one.
 *
 * A part is one file of this folder, bundled by itself: it shares no module with the prelude, so it is handed what it
 * needs. The cell keeps each text once for all its isolates; one that is not used costs an isolate nothing.
 */
export const PARTS = ['streams', 'deflate', 'multi-byte', 'urlpattern'] as const;

export type PartName = (typeof PARTS)[number];
