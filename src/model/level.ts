/** The levels at which an integration is installed. */

/** Where an integration can be installed: an organization first, then spaces and sites of it. */
export const LEVELS = ['organization', 'space', 'site'] as const;
export type Level = (typeof LEVELS)[number];
