/** WebAssembly (https://webassembly.github.io/spec/js-api/), for the type checker. */

declare namespace WebAssembly {
  type ValueType = 'anyfunc' | 'externref' | 'f32' | 'f64' | 'i32' | 'i64' | 'v128';
  type ImportExportKind = 'function' | 'global' | 'memory' | 'table' | 'tag';
  type Imports = Record<string, Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: a module says what it exports when it runs
  type Exports = Record<string, any>;

  interface ModuleExport {
    readonly name: string;
    readonly kind: ImportExportKind;
  }

  interface ModuleImport extends ModuleExport {
    readonly module: string;
  }

  class Module {
    constructor(bytes: BufferSource);
    static exports(module: Module): ModuleExport[];
    static imports(module: Module): ModuleImport[];
    static customSections(module: Module, name: string): ArrayBuffer[];
  }

  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Exports;
  }

  /** Sizes are pages of 64 KiB. */
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number });
    readonly buffer: ArrayBuffer;
    grow(delta: number): number;
  }

  class Table {
    constructor(
      descriptor: { element: 'anyfunc' | 'externref'; initial: number; maximum?: number },
      value?: unknown,
    );
    readonly length: number;
    get(index: number): unknown;
    grow(delta: number, value?: unknown): number;
    set(index: number, value?: unknown): void;
  }

  class Global {
    constructor(descriptor: { value: ValueType; mutable?: boolean }, value?: unknown);
    value: unknown;
    valueOf(): unknown;
  }

  class Tag {
    constructor(type: { parameters: ValueType[] });
  }

  class Exception {
    constructor(tag: Tag, payload: unknown[], options?: { traceStack?: boolean });
    getArg(tag: Tag, index: number): unknown;
    is(tag: Tag): boolean;
    readonly stack: string | undefined;
  }

  const JSTag: Tag;

  class CompileError extends Error {}
  class LinkError extends Error {}
  class RuntimeError extends Error {}

  interface Instantiated {
    readonly module: Module;
    readonly instance: Instance;
  }

  function compile(bytes: BufferSource): Promise<Module>;
  function compileStreaming(source: Response | Promise<Response>): Promise<Module>;
  function instantiate(module: Module, imports?: Imports): Promise<Instance>;
  function instantiate(bytes: BufferSource, imports?: Imports): Promise<Instantiated>;
  function instantiateStreaming(
    source: Response | Promise<Response>,
    imports?: Imports,
  ): Promise<Instantiated>;
  function validate(bytes: BufferSource): boolean;
}
