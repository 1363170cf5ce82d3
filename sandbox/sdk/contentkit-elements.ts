/**
 * All elements of ContentKit and their attributes (docs/contract/components.md#elements),
 * from the catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { ContentElements } from './contentkit-content.ts';
import type { FormElements } from './contentkit-form.ts';
import type { StructureElements } from './contentkit-structure.ts';

/** Tag → attributes. The host leaves out what is unknown, and answers 422 for what does not fit. */
export interface Elements extends StructureElements, ContentElements, FormElements {}
