/**
 * Lazy modules of the web platform: esbuild puts them into the prelude as functions that have not
 * run. Outside of this list, import only the types of a module listed here; any other import would
 * evaluate it at the start.
 *
 * They run after the tenant may have replaced any built-in. So they serve that tenant alone and get
 * no function of the bridge, and their results are as hostile as the tenant's own values.
 */

/** Bundled by esbuild, and evaluated at the first call. */
declare const require: (path: string) => unknown;

export const abort = (): typeof import('./events/abort.ts') =>
  require('./events/abort.ts') as typeof import('./events/abort.ts');

export const crypto = (): typeof import('./crypto/crypto.ts') =>
  require('./crypto/crypto.ts') as typeof import('./crypto/crypto.ts');

export const structuredClone = (): typeof import('./clone/structured-clone.ts') =>
  require('./clone/structured-clone.ts') as typeof import('./clone/structured-clone.ts');

export const compression = (): typeof import('./streams/compression.ts') =>
  require('./streams/compression.ts') as typeof import('./streams/compression.ts');

export const textStreams = (): typeof import('./streams/text-streams.ts') =>
  require('./streams/text-streams.ts') as typeof import('./streams/text-streams.ts');

export const events = (): typeof import('./events/events.ts') =>
  require('./events/events.ts') as typeof import('./events/events.ts');

export const eventSource = (): typeof import('./events/event-source.ts') =>
  require('./events/event-source.ts') as typeof import('./events/event-source.ts');

export const messages = (): typeof import('./events/message-channel.ts') =>
  require('./events/message-channel.ts') as typeof import('./events/message-channel.ts');

export const performance = (): typeof import('./time/performance.ts') =>
  require('./time/performance.ts') as typeof import('./time/performance.ts');

export const streamInternals = (): typeof import('./streams/stream-internals.ts') =>
  require('./streams/stream-internals.ts') as typeof import('./streams/stream-internals.ts');

export const streamTee = (): typeof import('./streams/stream-tee.ts') =>
  require('./streams/stream-tee.ts') as typeof import('./streams/stream-tee.ts');

export const temporal = (): typeof import('./time/temporal.ts') =>
  require('./time/temporal.ts') as typeof import('./time/temporal.ts');
