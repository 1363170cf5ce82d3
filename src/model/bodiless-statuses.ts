/**
 * HTTP statuses whose response has no body (RFC 9110, sections 6.4.1, 15.3.5, 15.3.6, 15.4.5).
 */

export const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);
