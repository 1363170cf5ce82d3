/** The words of `<annex-insert-menu>` itself, in English; a product replaces them with `words`. */
export const INSERT_WORDS = {
  title: 'Insert',
  search: 'Search blocks',
  loading: 'Loading…',
  failed: 'There was no answer. Check the connection.',
  none: 'No block fits.',
} as const;

export type InsertWords = Readonly<Record<keyof typeof INSERT_WORDS, string>>;
