/** The levels at which an integration is installed, and those of endpoints. */

/** Where an integration can be installed: an organization first, then spaces and sites of it. */
export const LEVELS = ['organization', 'space', 'site'] as const;
export type Level = (typeof LEVELS)[number];

/** Levels of endpoints: that of the integration as a whole, and those of its installations. */
export type EndpointLevel = 'integration' | Level;
