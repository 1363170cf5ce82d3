/**
 * WebAssembly within the limits of an isolate (https://webassembly.github.io/spec/js-api/).
 *
 * The engine does not count memories, and compiles without a bound. So each module is read and
 * rewritten before the engine gets it (`module-rewriter.ts`), and memories and code are counted:
 * each carries a buffer of its size, as `native-memory-accounting.ts` says. Everything happens
 * while the script runs, on its CPU: no form of it compiles on other threads.
 *
 * Attack: reaching the engine's own constructors. They stand in no property; those of this file
 * have their prototypes.
 */
import { GROWER, MEMORY, rewriteModule, START, TABLE_ENTRIES_MAX } from './module-rewriter.ts';
import type { WebAssemblyNeeds } from './needs.ts';

declare const needs: WebAssemblyNeeds;
const { native, bounds, copyBytes, viewBytes, Response, named, ballast, isObject } = needs;
const { apply, arrayBufferByteLength, charCodeAt, construct, defineProperty, deleteProperty } = needs;
const { floor, getOwnPropertyDescriptor, MapIntrinsic, mapGet, mapSet, mapSize, objectCreate } = needs;
const {
  Uint8ArrayIntrinsic,
  WeakMapIntrinsic,
  weakMapGet,
  weakMapSet,
  freeze,
  getPrototypeOf,
  setPrototypeOf,
} = needs;

const PAGE_BYTES = 64 * 1024;
const PAGES_MAX = 65_536;
/** A memory takes places in the table of the process's mappings, however small it is. */
const MEMORY_BYTES = 1024 * 1024;
/** Attack: filling the engine's table of types, which it keeps for the life of the process. */
const NEW_TYPES_MAX = 10_000;
const UINT32_MAX = 2 ** 32 - 1;

type Made = object;

/** An element of `WebAssembly.Module.exports`. */
interface Export {
  readonly name: string;
}

interface ModuleFacts {
  readonly pages: number | undefined;
  readonly grows: boolean;
  readonly starts: boolean;
  readonly held: ArrayBuffer;
}

/** Buffers that count for a memory. */
interface Held {
  readonly buffer: ArrayBuffer;
  readonly next: Held | undefined;
}

const modules = new WeakMapIntrinsic<object, ModuleFacts>();
const memories = new WeakMapIntrinsic<object, Held>();
/** Attack: keeping the buffers of memories, and dropping the memories. */
const ownersOfBuffers = new WeakMapIntrinsic<object, object>();
/** What scripts see as the exports of an instance, where the gate has exports of its own. */
const shownExports = new WeakMapIntrinsic<object, object>();
const knownTypes = new MapIntrinsic<string, true>();

const value = (holder: object, key: string): Function =>
  getOwnPropertyDescriptor(holder, key)?.value as Function;
const getter = (holder: object, key: string): Function =>
  getOwnPropertyDescriptor(holder, key)?.get as Function;

const { Module: NativeModule, Instance: NativeInstance, Memory: NativeMemory, Table: NativeTable } = native;
const { CompileError } = native;
const moduleExports = value(NativeModule, 'exports');
const moduleImports = value(NativeModule, 'imports');
const instanceExports = getter(NativeInstance.prototype as object, 'exports');
const memoryGrow = value(NativeMemory.prototype as object, 'grow');
const memoryBuffer = getter(NativeMemory.prototype as object, 'buffer');
const tableSet = value(NativeTable.prototype as object, 'set');

const refusal = (why: string): Error => new CompileError(`WebAssembly: ${why}`);

function bytesOf(source: unknown, what: string): Uint8Array {
  const view = viewBytes(source);
  if (view === undefined) throw new TypeError(`WebAssembly.${what}(): Argument 0 must be a buffer source`);
  const size = needs.typedArrayLength(view);
  if (size > bounds.bytesMax)
    throw refusal(`The module has ${size} bytes; the limit is ${bounds.bytesMax} bytes (wasmModuleBytes)`);
  return copyBytes(view);
}

const rewritten = (bytes: Uint8Array): ReturnType<typeof rewriteModule> =>
  rewriteModule(bytes, { pagesMax: bounds.pagesMax, type: countType, refusal });

function countType(signature: string): void {
  if (mapGet(knownTypes, signature)) return;
  if (mapSize(knownTypes) >= NEW_TYPES_MAX) throw refusal('This isolate has too many types of functions');
  mapSet(knownTypes, signature, true);
}

function makeModule(bytes: Uint8Array, newTarget: Function = NativeModule): Made {
  const { bytes: checked, nativeBytes, pages, grows, starts } = rewritten(bytes);
  const held = ballast(nativeBytes);
  const module = construct(NativeModule, [checked], newTarget) as Made;
  weakMapSet(modules, module, { pages, grows, starts, held });
  return module;
}

interface Imports {
  readonly values: object | undefined;
  /** The memory among them. */
  readonly memory: object | undefined;
}

/** Reads each import once, so that the engine gets exactly the memory that is counted. */
function readImports(module: Made, imports: unknown): Imports {
  const wanted = apply(moduleImports, NativeModule, [module]) as Record<'module' | 'name', string>[];
  if (imports !== undefined && !isObject(imports))
    throw new TypeError('WebAssembly.Instance(): Argument 1 must be an object');
  if (wanted.length === 0) return { values: undefined, memory: undefined };
  if (imports === undefined)
    throw new TypeError('WebAssembly.Instance(): Imports argument must be present and must be an object');
  const values = objectCreate(null) as Record<string, Record<string, unknown>>;
  let memory: object | undefined;
  for (let i = 0; i < wanted.length; i++) {
    const { module: from, name } = wanted[i] as Record<'module' | 'name', string>;
    const given = (imports as Record<string, unknown>)[from];
    if (!isObject(given))
      throw new TypeError(
        `WebAssembly.Instance(): Import #${i} "${from}": module is not an object or function`,
      );
    const imported = (given as Record<string, unknown>)[name];
    values[from] ??= objectCreate(null) as Record<string, unknown>;
    values[from][name] = imported;
    if (isObject(imported) && weakMapGet(memories, imported) !== undefined) memory = imported;
  }
  return { values, memory };
}

function makeInstance(module: unknown, imports: unknown, newTarget: Function = NativeInstance): Made {
  const facts = isObject(module) ? weakMapGet(modules, module) : undefined;
  if (facts === undefined)
    throw new TypeError('WebAssembly.Instance(): Argument 0 must be a WebAssembly.Module');
  const { values, memory: imported } = readImports(module as Made, imports);
  const held = facts.pages === undefined ? undefined : ballast(MEMORY_BYTES + facts.pages * PAGE_BYTES);
  const instance = construct(NativeInstance, [module, values], newTarget) as Made;
  if (held === undefined && !facts.grows) return instance;
  const all = apply(instanceExports, instance, []) as Record<string, unknown>;
  const memory = held === undefined ? imported : (all[MEMORY] as object);
  if (held !== undefined) hold(memory as object, held);
  weakMapSet(shownExports, instance, shown(module as Made, all));
  if (facts.grows) apply(tableSet, all[GROWER], [0, grower(memory as object)]);
  if (facts.starts) (all[START] as () => void)();
  return instance;
}

const isShown = (name: string): boolean => name !== GROWER && name !== MEMORY && name !== START;

/** The exports without those of the gate. */
function shown(module: Made, all: Record<string, unknown>): object {
  const made = objectCreate(null) as object;
  const list = apply(moduleExports, NativeModule, [module]) as Export[];
  for (let i = 0; i < list.length; i++) {
    const { name } = list[i] as Export;
    if (isShown(name)) (made as Record<string, unknown>)[name] = all[name];
  }
  return freeze(made);
}

/** A module that exports the function which it imports: tables take only functions of modules. */
const PASSING =
  '\0asm\x01\0\0\0' + // head
  '\x01\x06\x01\x60\x01\x7f\x01\x7f' + // a type (i32) → i32
  '\x02\x05\x01\0\0\0\0' + // an import "" "" of this type
  '\x07\x04\x01\0\0\0'; // an export "" of it
let passing: Made | undefined;

function grower(memory: object): unknown {
  if (passing === undefined) {
    const bytes = new Uint8ArrayIntrinsic(PASSING.length);
    for (let i = 0; i < PASSING.length; i++) bytes[i] = charCodeAt(PASSING, i);
    passing = construct(NativeModule, [bytes]) as Made;
  }
  const grow = (pages: number): number => grown(memory, pages >>> 0);
  const imports = { __proto__: null, '': { __proto__: null, '': grow } };
  const instance = construct(NativeInstance, [passing, imports]) as Made;
  return (apply(instanceExports, instance, []) as Record<string, unknown>)[''];
}

/** Grows a memory. @returns the pages that it had; -1 where they do not fit */
function grown(memory: object, pages: number): number {
  const had = arrayBufferByteLength(apply(memoryBuffer, memory, [])) / PAGE_BYTES;
  if (pages === 0) return had;
  if (had + pages > PAGES_MAX) return -1;
  try {
    const held = ballast(pages * PAGE_BYTES);
    apply(memoryGrow, memory, [pages]);
    hold(memory, held);
    return had;
  } catch {
    return -1;
  }
}

const hold = (memory: object, buffer: ArrayBuffer): unknown =>
  weakMapSet(memories, memory, { buffer, next: weakMapGet(memories, memory) });

function makeMemory(descriptor: unknown, newTarget: Function): Made {
  const { initial, maximum, shared, address } = dictionary(descriptor, 'Memory');
  if (shared) throw new TypeError('WebAssembly.Memory(): Shared memory is not available');
  requireAddress(address, 'Memory');
  const least = toUint32(initial, "WebAssembly.Memory(): Property 'initial'");
  const most =
    maximum === undefined ? PAGES_MAX : toUint32(maximum, "WebAssembly.Memory(): Property 'maximum'");
  if (least > PAGES_MAX || most > PAGES_MAX)
    throw new TypeError(`WebAssembly.Memory(): A memory has at most ${PAGES_MAX} pages`);
  if (most < least) throw new RangeError("WebAssembly.Memory(): 'maximum' is below 'initial'");
  const held = ballast(MEMORY_BYTES + least * PAGE_BYTES);
  const bounded = {
    __proto__: null,
    initial: least,
    maximum: most < bounds.pagesMax ? most : bounds.pagesMax,
  };
  const memory = construct(NativeMemory, [bounded], newTarget) as Made;
  hold(memory, held);
  return memory;
}

function makeTable(descriptor: unknown, initialValue: unknown, count: number, newTarget: Function): Made {
  const { element, initial, maximum, address } = dictionary(descriptor, 'Table');
  requireAddress(address, 'Table');
  const kind = `${element as string}`;
  const least = toUint32(initial, "WebAssembly.Table(): Property 'initial'");
  const most =
    maximum === undefined ? UINT32_MAX : toUint32(maximum, "WebAssembly.Table(): Property 'maximum'");
  if (most < least) throw new RangeError("WebAssembly.Table(): 'maximum' is below 'initial'");
  if (least > TABLE_ENTRIES_MAX)
    throw new RangeError(`WebAssembly.Table(): A table has at most ${TABLE_ENTRIES_MAX} entries`);
  const bounded = {
    __proto__: null,
    element: kind,
    initial: least,
    maximum: most < TABLE_ENTRIES_MAX ? most : TABLE_ENTRIES_MAX,
  };
  return construct(NativeTable, count > 1 ? [bounded, initialValue] : [bounded], newTarget) as Made;
}

function dictionary(given: unknown, what: string): Record<string, unknown> {
  if (!isObject(given)) throw new TypeError(`WebAssembly.${what}(): Argument 0 must be a descriptor`);
  return given as Record<string, unknown>;
}

function requireAddress(address: unknown, what: string): void {
  if (address !== undefined && `${address as string}` !== 'i32')
    throw new TypeError(`WebAssembly.${what}(): Addresses of 64 bits are not available`);
}

/** `[EnforceRange] unsigned long` of Web IDL. */
function toUint32(given: unknown, what: string): number {
  const number = +(given as number);
  const whole = number < 0 ? -floor(-number) : floor(number);
  if (!(whole >= 0 && whole <= UINT32_MAX)) throw new TypeError(`${what}: value is out of range`);
  return whole + 0;
}

/** The bytes of an answer that a server calls WebAssembly. */
async function answered(source: unknown, what: string): Promise<unknown> {
  const response = await source;
  if (!(response instanceof Response))
    throw new TypeError(`WebAssembly.${what}(): Argument 0 must be a Response or a promise of one`);
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/wasm[\t ]*$/i.test(type))
    throw new TypeError(`WebAssembly.${what}(): The answer has the type "${type}", not "application/wasm"`);
  if (!response.ok) throw new TypeError(`WebAssembly.${what}(): The answer has status ${response.status}`);
  return response.arrayBuffer();
}

async function instantiated(bytes: Uint8Array, imports: unknown): Promise<object> {
  await undefined;
  const module = makeModule(bytes);
  return { module, instance: makeInstance(module, imports) };
}

const operations = {
  async compile(source: unknown): Promise<object> {
    const bytes = bytesOf(source, 'compile');
    await undefined;
    return makeModule(bytes);
  },
  async compileStreaming(source: unknown): Promise<object> {
    return makeModule(bytesOf(await answered(source, 'compileStreaming'), 'compileStreaming'));
  },
  async instantiate(source: unknown, imports: unknown = undefined): Promise<object> {
    if (!isObject(source) || weakMapGet(modules, source) === undefined)
      return instantiated(bytesOf(source, 'instantiate'), imports);
    await undefined;
    return makeInstance(source, imports);
  },
  async instantiateStreaming(source: unknown, imports: unknown = undefined): Promise<object> {
    const what = 'instantiateStreaming';
    return instantiated(bytesOf(await answered(source, what), what), imports);
  },
  validate(source: unknown): boolean {
    const bytes = bytesOf(source, 'validate');
    try {
      const { nativeBytes, bytes: checked } = rewritten(bytes);
      ballast(nativeBytes);
      return apply(nativeValidate, native, [checked]) as boolean;
    } catch {
      return false;
    }
  },
};
const nativeValidate = value(native, 'validate');

/** Puts a constructor in the place of the engine's. */
function replace(
  Native: Function,
  make: (newTarget: Function, first: unknown, second: unknown, count: number) => object,
): Function {
  const { name } = Native;
  const Made = function (this: unknown, first: unknown, second: unknown): object {
    if (new.target === undefined) throw new TypeError(`WebAssembly.${name} must be invoked with 'new'`);
    return make(new.target, first, second, arguments.length);
  };
  const prototype = Native.prototype as object;
  defineProperty(Made, 'prototype', { __proto__: null, value: prototype, writable: false } as object);
  const own = { __proto__: null, value: Made, writable: true, configurable: true } as object;
  defineProperty(prototype, 'constructor', own);
  defineProperty(native, name, own);
  setPrototypeOf(Made, getPrototypeOf(Native));
  return named(Made, Native);
}

/** Puts a function in the place of the engine's, with its name and length. */
function override(holder: object, key: string, made: Function): void {
  const { value: method, get, ...rest } = getOwnPropertyDescriptor(holder, key) as PropertyDescriptor;
  const own =
    method === undefined ? { get: named(made, get as Function) } : { value: named(made, method as Function) };
  defineProperty(holder, key, { __proto__: null, ...rest, ...own } as object);
}

const Module = replace(NativeModule, (newTarget, source) => makeModule(bytesOf(source, 'Module'), newTarget));
for (let i = 0; i < 3; i++) {
  const key = i === 0 ? 'exports' : i === 1 ? 'imports' : 'customSections';
  const descriptor = getOwnPropertyDescriptor(NativeModule, key) as object;
  defineProperty(Module, key, { __proto__: null, ...descriptor } as object);
}
override(Module, 'exports', (module: unknown): object => {
  const all = apply(moduleExports, NativeModule, [module]) as Export[];
  const shown: Export[] = [];
  for (let i = 0; i < all.length; i++) {
    const one = all[i] as Export;
    const own = { __proto__: null, value: one, writable: true, enumerable: true, configurable: true };
    if (isShown(one.name)) defineProperty(shown, shown.length, own as object);
  }
  return shown;
});

replace(NativeInstance, (newTarget, module, imports) => makeInstance(module, imports, newTarget));
override(NativeInstance.prototype as object, 'exports', function (this: object): unknown {
  const own = isObject(this) ? weakMapGet(shownExports, this) : undefined;
  return own ?? apply(instanceExports, this, []);
});

replace(NativeMemory, (newTarget, descriptor) => makeMemory(descriptor, newTarget));
const memoryPrototype = NativeMemory.prototype as object;
override(memoryPrototype, 'buffer', function (this: object): unknown {
  const buffer = apply(memoryBuffer, this, []) as object;
  weakMapSet(ownersOfBuffers, buffer, this);
  return buffer;
});
override(memoryPrototype, 'grow', function (this: object, delta: unknown): number {
  // Throws where this is no memory.
  apply(memoryBuffer, this, []);
  const had = grown(this, toUint32(delta, 'WebAssembly.Memory.grow(): Argument 0'));
  if (had < 0) throw new RangeError('WebAssembly.Memory.grow(): The memory cannot grow so far');
  return had;
});
// A resizable buffer would grow without this file.
deleteProperty(memoryPrototype, 'toResizableBuffer');
deleteProperty(memoryPrototype, 'toFixedLengthBuffer');

replace(NativeTable, (newTarget, descriptor, initial, count) =>
  makeTable(descriptor, initial, count, newTarget),
);

override(native, 'compile', operations.compile);
override(native, 'instantiate', operations.instantiate);
override(native, 'validate', operations.validate);
for (let i = 0; i < 2; i++) {
  const key = i === 0 ? 'compileStreaming' : 'instantiateStreaming';
  const value = named(operations[key], { name: key, length: 1 } as Function);
  defineProperty(native, key, {
    ...{ __proto__: null, value, writable: true, enumerable: true, configurable: true },
  } as object);
}
// Stacks of their own, outside the heap.
deleteProperty(native, 'Suspending');
deleteProperty(native, 'promising');
deleteProperty(native, 'SuspendError');

export const WebAssembly: object = native;
