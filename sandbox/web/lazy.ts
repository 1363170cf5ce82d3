/**
 * Modules of the web platform that are evaluated when they are first needed: esbuild puts them into the prelude as
 * functions that have not run. A module listed here must be imported by its types alone everywhere else outside this list,
 * or it would be evaluated at the start after all.
 */

/** Bundled by esbuild, and evaluated at the first call. */
declare const require: (path: string) => unknown;

export const abort = (): typeof import('./abort.ts') => require('./abort.ts') as typeof import('./abort.ts');

export const crypto = (): typeof import('./crypto/crypto.ts') =>
  require('./crypto/crypto.ts') as typeof import('./crypto/crypto.ts');

export const structuredClone = (): typeof import('./structured-clone.ts') =>
  require('./structured-clone.ts') as typeof import('./structured-clone.ts');

export const compression = (): typeof import('./compression.ts') =>
  require('./compression.ts') as typeof import('./compression.ts');

export const textStreams = (): typeof import('./text-streams.ts') =>
  require('./text-streams.ts') as typeof import('./text-streams.ts');

export const events = (): typeof import('./events.ts') =>
  require('./events.ts') as typeof import('./events.ts');

export const messages = (): typeof import('./message-channel.ts') =>
  require('./message-channel.ts') as typeof import('./message-channel.ts');

export const performance = (): typeof import('./performance.ts') =>
  require('./performance.ts') as typeof import('./performance.ts');

export const streamInternals = (): typeof import('./stream-internals.ts') =>
  require('./stream-internals.ts') as typeof import('./stream-internals.ts');

export const streamTee = (): typeof import('./stream-tee.ts') =>
  require('./stream-tee.ts') as typeof import('./stream-tee.ts');

export const temporal = (): typeof import('./temporal.ts') =>
  require('./temporal.ts') as typeof import('./temporal.ts');
