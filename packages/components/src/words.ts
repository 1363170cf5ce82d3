/**
 * The words that the renderer itself shows or reads out, in English. A product replaces them by
 * those of its user's language with the property `words`.
 */
export const WORDS = {
  loading: 'Loading…',
  cancel: 'Cancel',
  close: 'Close',
  retry: 'Try again',
  dismiss: 'Dismiss',
  open: 'Open',
  next: 'Next',
  done: 'Done',
  steps: 'Steps',
  menu: 'Actions',
  none: 'None',
  remove: 'Remove',
  noChoices: 'No choices.',
  moreChoices: 'Show more',
  cutOff: 'This is longer than can be shown. The rest is cut off.',
  frameOf: 'Page of',
  stoppedPage: 'This page took the keyboard, or sent too much.',
  showPage: 'Show this page',
  opensElsewhere: 'opens in a new tab',
  failed: 'This did not work.',
  unreachable: 'There was no answer.',
  invalidAnswer: 'The answer cannot be shown.',
  tooMany: 'Too many actions are waiting. Try again later.',
  refusedUrl: 'This address cannot be opened.',
  editedTooLong: 'This text is too long to be edited here.',
} as const;

export type Words = Readonly<Record<keyof typeof WORDS, string>>;
