/**
 * What the modules of this folder use of packages without types of their own, and of the tables of
 * the Node.js that runs (`src/bundle/node-source.ts`), for the type checker.
 */

declare module 'node-tables/buffer.json' {
  const limits: { readonly MAX_LENGTH: number; readonly MAX_STRING_LENGTH: number };
  export default limits;
}

declare module '@jspm/core/nodelibs/events' {
  interface Emitter {
    setMaxListeners?(count: number): void;
    listeners?(name: unknown): Function[];
  }
  const EventEmitter: Record<string, unknown>;
  export const defaultMaxListeners: number;
  export const init: unknown;
  export const listenerCount: unknown;
  export const on: unknown;
  export const once: unknown;
  export { type Emitter, EventEmitter };
  export default EventEmitter;
}

declare module '@jspm/core/nodelibs/util' {
  const util: Record<string, unknown>;
  export default util;
}

declare module 'node-tables/os.json' {
  const table: Readonly<Record<'dlopen' | 'errno' | 'signals' | 'priority', Record<string, number>>>;
  export default table;
}

declare module 'node-tables/system-errors.json' {
  const table: Readonly<Record<string, readonly [name: string, message: string]>>;
  export default table;
}
