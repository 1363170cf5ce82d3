/**
 * What the part `webassembly` gets of the prelude: the engine's WebAssembly, which no script can
 * reach, and built-ins that no script can have replaced.
 */
import type { IsolateLimits } from '../../../src/protocol/wire.ts';
import { copyBytes, viewBytes } from '../encoding/bytes.ts';
import { Response } from '../fetch/response.ts';
import { named } from '../memory/memory-refusals.ts';
import { ballast } from '../memory/native-memory-accounting.ts';
import {
  apply,
  arrayBufferByteLength,
  charCodeAt,
  construct,
  defineProperty,
  deleteProperty,
  floor,
  fromCharCode,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  MapIntrinsic,
  mapGet,
  mapSet,
  mapSize,
  objectCreate,
  setPrototypeOf,
  typedArrayBuffer,
  typedArrayByteOffset,
  typedArrayLength,
  typedArraySet,
  Uint8ArrayIntrinsic,
  WeakMapIntrinsic,
  weakMapGet,
  weakMapSet,
} from '../primordials.ts';
import { isObject } from '../web-idl.ts';

/** The engine's namespace object. */
type Native = Readonly<Record<'Module' | 'Instance' | 'Memory' | 'Table', Function>> & {
  readonly CompileError: new (message: string) => Error;
};

const MIB = 1024 * 1024;
const PAGES_PER_MIB = 16;

/** Bounds of the isolate: bytes of a module, and pages of all memories. */
const bounds = { bytesMax: 8 * MIB, pagesMax: 128 * PAGES_PER_MIB };

export function setWebAssemblyBounds(
  limits: Pick<IsolateLimits, 'wasmModuleBytes' | 'isolateHeapMib'>,
): void {
  bounds.bytesMax = limits.wasmModuleBytes;
  bounds.pagesMax = limits.isolateHeapMib * PAGES_PER_MIB;
}

/** Undefined in cells without compilers. */
const native = (globalThis as unknown as { WebAssembly?: Native }).WebAssembly as Native;

export const webAssemblyNeeds = {
  ...{ native, bounds, copyBytes, viewBytes, Response, named, ballast, isObject },
  ...{ apply, arrayBufferByteLength, charCodeAt, construct, defineProperty, deleteProperty, floor },
  ...{ fromCharCode, getOwnPropertyDescriptor, MapIntrinsic, mapGet, mapSet, mapSize, objectCreate },
  ...{ typedArrayBuffer, typedArrayByteOffset, typedArrayLength, typedArraySet, Uint8ArrayIntrinsic },
  ...{ WeakMapIntrinsic, weakMapGet, weakMapSet },
  Int8ArrayIntrinsic: Int8Array,
  Int32ArrayIntrinsic: Int32Array,
  freeze: Object.freeze,
  ...{ getPrototypeOf, setPrototypeOf },
};

export type WebAssemblyNeeds = typeof webAssemblyNeeds;
