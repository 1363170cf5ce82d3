/**
 * The parts of `@jspm/core` that the modules of this folder use, for the type checker: the package
 * has no types of its own.
 */

declare module '@jspm/core/nodelibs/buffer' {
  export interface Bytes extends Uint8Array<ArrayBuffer> {
    toString(encoding?: string, start?: number, end?: number): string;
    write(text: string, ...place: (number | string | undefined)[]): number;
  }
  export interface BufferClass {
    new (...parts: unknown[]): Bytes;
    readonly prototype: Bytes;
    from(value: unknown, encoding?: unknown, length?: unknown): Bytes;
    alloc(size: number): Bytes;
    byteLength(value: unknown, encoding?: unknown): number;
    isEncoding(encoding: unknown): boolean;
  }
  export const Buffer: BufferClass;
  export const INSPECT_MAX_BYTES: number;
  export const kMaxLength: number;
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
