/**
 * Bound on the interim answers (1xx) to one outbound request.
 */

/** Attack: a server that sends interim answers without end. */
export const INTERIM_ANSWERS_MAX = 16;
