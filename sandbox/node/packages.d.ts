/**
 * What the modules of this folder use of packages without types of their own, and of the tables of
 * the Node.js that runs (`src/host/bundle/node-source.ts`), for the type checker.
 */

declare module 'node-tables/http-methods.json' {
  const names: readonly string[];
  export default names;
}

declare module 'node-tables/http-status.json' {
  const names: Readonly<Record<string, string>>;
  export default names;
}

declare module 'node-tables/modules.json' {
  const names: readonly string[];
  export default names;
}

declare module 'node-tables/hashes.json' {
  const names: readonly string[];
  export default names;
}

declare module 'node-tables/crypto.json' {
  const constants: Readonly<Record<string, number | string>>;
  export default constants;
}

declare module 'node-tables/zlib.json' {
  const constants: Readonly<Record<string, number>>;
  export default constants;
}

declare module 'node-tables/brotli.json' {
  const tables: {
    /** The words of the dictionary, deflated, in base64. */
    readonly words: string;
    readonly transforms: readonly (readonly [prefix: string, kind: number, suffix: string])[];
  };
  export default tables;
}

declare module 'node-tables/buffer.json' {
  const limits: { readonly MAX_LENGTH: number; readonly MAX_STRING_LENGTH: number };
  export default limits;
}

declare module 'node-tables/os.json' {
  type Numbers = Readonly<Record<string, number>>;
  export const dlopen: Numbers;
  export const errno: Numbers;
  export const priority: Numbers;
  export const signals: Numbers;
  export const UV_UDP_REUSEADDR: number;
}

declare module 'node-tables/system-errors.json' {
  const table: Readonly<Record<string, readonly [name: string, message: string]>>;
  export default table;
}

declare module 'readable-stream/lib/stream.js' {
  export interface NodeStream {
    readonly destroyed: boolean;
    readonly _readableState?: object;
    readonly _writableState?: object;
    on(name: string, listener: (value: never) => void): this;
  }
  export interface NodeReadable extends NodeStream {
    readonly readableHighWaterMark: number;
    readonly readableObjectMode: boolean;
    pause(): void;
    resume(): void;
    push(chunk: unknown): boolean;
  }
  export interface NodeWritable extends NodeStream {
    readonly writableEnded: boolean;
    readonly writableHighWaterMark: number;
    readonly writableNeedDrain: boolean;
    readonly writableObjectMode: boolean;
    write(chunk: unknown): boolean;
    end(): void;
  }
  export interface NodeDuplex extends NodeReadable, NodeWritable {}
  interface StreamClass<T> {
    new (options?: object): T;
    fromWeb: unknown;
    toWeb: unknown;
  }
  interface StreamModule {
    readonly Duplex: StreamClass<NodeDuplex>;
    readonly Readable: StreamClass<NodeReadable>;
    readonly Writable: StreamClass<NodeWritable>;
    readonly destroy: (stream: NodeStream, error: unknown) => void;
    readonly finished: (stream: NodeStream, done: (error?: Error & { code?: string }) => void) => () => void;
    readonly isReadable: (stream: NodeStream) => boolean;
    readonly isWritable: (stream: NodeStream) => boolean;
    readonly [other: string]: unknown;
  }
  const Stream: StreamModule;
  export default Stream;
}

declare module 'readable-stream/lib/stream/promises.js' {
  const promises: { readonly finished: unknown; readonly pipeline: unknown };
  export default promises;
}

declare module 'punycode' {
  const punycode: Readonly<
    Record<'decode' | 'encode' | 'toASCII' | 'toUnicode', (text: string) => string>
  > & { readonly version: string; readonly ucs2: object };
  export const toUnicode: (domain: string) => string;
  export default punycode;
}

declare module 'node-tables/ciphers.json' {
  const infos: Readonly<Record<string, object>>;
  export default infos;
}
