/** `@annex/components`: importing it makes the tag `<annex-component>` known to the page. */
import { defineAnnexComponent } from './ui/annex-component.ts';

export { fetchChoices, fetchTransport } from './fetch-transport.ts';
export type * from './transport.ts';
export { AnnexComponent, defineAnnexComponent, type Theme } from './ui/annex-component.ts';
export { WORDS, type Words } from './words.ts';

defineAnnexComponent();
