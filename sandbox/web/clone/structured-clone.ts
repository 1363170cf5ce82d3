/**
 * `structuredClone` (https://html.spec.whatwg.org/#structured-cloning).
 *
 * Copies a value in one pass, depth first as the standard reads it, with an explicit stack, so that
 * deep nesting does not overflow the engine's. With a transfer list, the copy is assembled only
 * after everything was read: a failure before must leave the buffers attached.
 *
 * Streams cannot be transferred here: both ends would stay in one isolate. They are refused with a
 * DataCloneError.
 */
import './structured-clone-platform.ts';
import { copyBytes } from '../encoding/bytes.ts';
import { List, push, truncate } from '../list.ts';
import {
  apply,
  arrayBufferByteLength,
  arrayBufferDetached,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  defineProperty,
  getOwnPropertyDescriptor,
  MapIntrinsic,
  mapGet,
  mapSet,
  objectCreate,
  objectKeys,
  objectValues,
  typedArrayBuffer,
  typedArrayByteOffset,
  typedArrayLength,
  typedArrayName,
  Uint8ArrayIntrinsic,
  uncurryThis,
} from '../primordials.ts';
import { isObject, requireArguments, toDictionary, toDOMString } from '../web-idl.ts';
import { kindOf, uncloneable } from './structured-clone-kinds.ts';
import { findTransferable } from './structured-clone-registry.ts';

const { hasOwn } = Object;
const SetIntrinsic = Set;
const mapForEach = uncurryThis(Map.prototype.forEach) as (
  map: object,
  each: (value: unknown, key: unknown) => void,
) => void;
const setForEach = uncurryThis(Set.prototype.forEach) as (
  set: object,
  each: (value: unknown) => void,
) => void;
const setAdd = uncurryThis(Set.prototype.add) as (set: object, value: unknown) => void;
const transferBuffer = uncurryThis(ArrayBuffer.prototype.transfer) as (buffer: object) => ArrayBuffer;

type ViewConstructor = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;
const viewConstructors: Readonly<Record<string, ViewConstructor>> = {
  BigInt64Array,
  BigUint64Array,
  DataView,
  Float16Array,
  Float32Array,
  Float64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  Uint8Array,
  Uint8ClampedArray,
  Uint16Array,
  Uint32Array,
} as never;

export function structuredClone(value: unknown, options: unknown = undefined): unknown {
  requireArguments(arguments.length, 1, 'structuredClone');
  const { transfer } = toDictionary(options, 'structuredClone: parameter 2');
  return new Cloner(transfer === undefined ? new List() : toTransferList(transfer)).clone(value);
}

/** A message for its receiver: the copy, and the transferred objects in their order. */
export function cloneMessage(value: unknown, transfer: List<object>): { data: unknown; moved: List<object> } {
  const cloner = new Cloner(transfer);
  return { data: cloner.clone(value), moved: cloner.moved };
}

/** `sequence<object>` (Web IDL). */
export function toTransferList(value: unknown): List<object> {
  const method = isObject(value) ? (value as Partial<Iterable<unknown>>)[Symbol.iterator] : undefined;
  if (typeof method !== 'function') throw new TypeError('structuredClone: "transfer" is not a sequence');
  const objects = new List<object>();
  for (const item of { [Symbol.iterator]: () => apply(method, value, []) as Iterator<unknown> }) {
    if (!isObject(item)) throw new TypeError('structuredClone: an item of "transfer" is not an object');
    push(objects, item);
  }
  return objects;
}

/** Placeholder for an object that exists only after the transfer. */
class Pending {
  copy: object | undefined;
  readonly #make: () => object;

  constructor(make: () => object) {
    this.#make = make;
  }

  settle(): void {
    this.copy = this.#make();
  }
}

/**
 * Destination of a copied value: a property of an ordinary object, of an array with holes, or of an
 * error, where it is not enumerable; an element of an array without holes; an entry of a Map; a
 * member of a Set.
 */
type Place = 'property' | 'sparse' | 'hidden' | 'element' | 'entry' | 'member' | 'length';

interface Put {
  readonly place: Place;
  readonly target: object;
  readonly key: unknown;
  readonly value: unknown;
}

/** An object whose content is being read. */
interface Frame {
  readonly place: Place;
  readonly source: object;
  readonly copy: object;
  /**
   * Names of properties; keys and values of a Map in turn; values of a Set; the cause of an error.
   */
  readonly items: ArrayLike<unknown>;
  /** Index of the next item. */
  next: number;
  /** Copy of the key whose value is next. */
  key: unknown;
  /** Length of an array. */
  readonly length: number | undefined;
}

class Cloner {
  /** Original → copy. */
  readonly #copies = new MapIntrinsic<object, object>();
  readonly #frames = new List<Frame>();
  readonly #pending = new List<Pending>();
  /** Assignments to make after the transfer, if there is one. */
  readonly #later: List<Put> | undefined;
  /** Replacements of the transferred objects. */
  readonly moved = new List<object>();

  constructor(transferred: List<object>) {
    if (transferred.length === 0) return;
    this.#later = new List();
    for (let i = 0; i < transferred.length; i++) {
      const object = transferred[i] as object;
      const means = findTransferable(object);
      if (means === undefined && !isArrayBuffer(object))
        throw uncloneable('An object that is not transferable');
      if (mapGet(this.#copies, object) !== undefined) throw uncloneable('An object transferred twice');
      this.#expect(object, () => {
        if (means === undefined ? arrayBufferDetached(object) : means.isDetached(object))
          throw uncloneable('A detached object');
        const moved = means === undefined ? transferBuffer(object) : means.move(object);
        push(this.moved, moved);
        return moved;
      });
    }
  }

  clone(value: unknown): unknown {
    const copy = this.#copyOf(value);
    while (this.#frames.length > 0) this.#advance(this.#frames[this.#frames.length - 1] as Frame);
    for (let i = 0; i < this.#pending.length; i++) this.#pending[i]?.settle();
    const later = this.#later ?? new List<Put>();
    for (let i = 0; i < later.length; i++) {
      const { place, target, key, value: item } = later[i] as Put;
      put(place, target, settled(key), settled(item));
    }
    return settled(copy);
  }

  /** Reads items, up to one whose own content has to be read. */
  #advance(frame: Frame): void {
    const { place, source, copy, items } = frame;
    const frames = this.#frames;
    const depth = frames.length;
    while (frame.next < items.length) {
      const index = frame.next++;
      const item = items[index];
      if (place === 'property' || place === 'sparse') {
        // A getter read before may have deleted it.
        if (!hasOwn(source, item as string)) continue;
        this.#put(place, copy, item, this.#copyOf((source as Record<string, unknown>)[item as string]));
      } else if (place === 'element') {
        frame.next = nextObject(items, index + 1);
        this.#put(place, copy, index, this.#copyOf(item));
      } else if (place === 'entry' && index % 2 === 0) {
        frame.key = this.#copyOf(item);
      } else {
        this.#put(place, copy, frame.key, this.#copyOf(item));
      }
      if (frames.length > depth) return;
    }
    truncate(frames, depth - 1);
    if (frame.length !== undefined) this.#put('length', copy, undefined, frame.length);
  }

  #put(place: Place, target: object, key: unknown, value: unknown): void {
    if (this.#later === undefined) put(place, target, key, value);
    else push(this.#later, { place, target, key, value });
  }

  /** Copy of a value, whose content may follow; a Pending for a transferred object. */
  #copyOf(value: unknown): unknown {
    if (typeof value === 'symbol') throw uncloneable('A symbol');
    if (!isObject(value)) return value;
    return mapGet(this.#copies, value) ?? this.#begin(value);
  }

  #begin(source: object): object {
    const kind = kindOf(source);
    // Most frequent kinds first: in interpreted code each comparison counts.
    switch (kind.type) {
      case 'object':
        return this.#open('property', source, {}, objectKeys(source));
      case 'array': {
        const values = denseValues(source as unknown[]);
        if (values !== undefined) return this.#openDense(source, values);
        return this.#open('sparse', source, [], objectKeys(source));
      }
      case 'whole':
        return this.#remember(source, kind.copy);
      case 'buffer':
        return this.#remember(source, copyBuffer(source as ArrayBuffer));
      case 'view':
        return this.#beginView(source as ArrayBufferView);
      case 'map': {
        const items = new List<unknown>();
        mapForEach(source, (value, key) => {
          push(items, key);
          push(items, value);
        });
        return this.#open('entry', source, new MapIntrinsic(), items);
      }
      case 'set': {
        const items = new List<unknown>();
        setForEach(source, (value) => push(items, value));
        return this.#open('member', source, new SetIntrinsic(), items);
      }
      case 'error': {
        const cause = errorCause(source);
        return this.#open('hidden', source, copyError(source), cause === undefined ? [] : [cause.value]);
      }
    }
  }

  #open(place: Place, source: object, copy: object, items: ArrayLike<unknown>): object {
    const key = place === 'hidden' ? 'cause' : undefined;
    const length = place === 'sparse' ? (source as unknown[]).length : undefined;
    push(this.#frames, { place, source, copy, items, next: 0, key, length });
    return this.#remember(source, copy);
  }

  /** Copy of an array without holes. Values that are objects are replaced by copies later. */
  #openDense(source: object, values: unknown[]): object {
    const next = nextObject(values, 0);
    if (next < values.length) {
      push(this.#frames, {
        place: 'element',
        source,
        copy: values,
        items: values,
        next,
        key: undefined,
        length: undefined,
      });
    }
    return this.#remember(source, values);
  }

  #beginView(view: ArrayBufferView): object {
    const name = typedArrayName(view) ?? 'DataView';
    const isDataView = name === 'DataView';
    const source = isDataView ? dataViewBuffer(view) : typedArrayBuffer(view);
    if (arrayBufferDetached(source)) throw uncloneable('A view of a detached ArrayBuffer');
    const offset = isDataView ? dataViewByteOffset(view) : typedArrayByteOffset(view);
    const length = isDataView ? dataViewByteLength(view) : typedArrayLength(view);
    const Constructor = viewConstructors[name] as ViewConstructor;
    const buffer = this.#copyOf(source);
    if (!(buffer instanceof Pending)) {
      return this.#remember(view, new Constructor(buffer as ArrayBuffer, offset, length));
    }
    return this.#expect(view, () => new Constructor(buffer.copy as ArrayBuffer, offset, length));
  }

  #expect(source: object, make: () => object): Pending {
    const pending = new Pending(make);
    push(this.#pending, pending);
    return this.#remember(source, pending);
  }

  #remember<T extends object>(source: object, copy: T): T {
    mapSet(this.#copies, source, copy as object);
    return copy;
  }
}

const settled = (value: unknown): unknown => (value instanceof Pending ? value.copy : value);

function put(place: Place, target: object, key: unknown, value: unknown): void {
  switch (place) {
    case 'property':
      // An assignment is several times as fast. It runs no setter if the prototypes have no such
      // name.
      if ((key as string) in target) createProperty(target, key as string, value, true);
      else (target as Record<string, unknown>)[key as string] = value;
      break;
    case 'element':
      // An own property of the copy, so the assignment runs no setter of a prototype.
      (target as unknown[])[key as number] = value;
      break;
    case 'entry':
      mapSet(target as Map<unknown, unknown>, key, value);
      break;
    case 'member':
      setAdd(target, value);
      break;
    case 'length':
      (target as unknown[]).length = value as number;
      break;
    default:
      createProperty(target, key as string, value, place === 'sparse');
  }
}

/** CreateDataProperty: runs no setter of a prototype. */
function createProperty(target: object, key: string, value: unknown, enumerable: boolean): void {
  descriptor.enumerable = enumerable;
  descriptor.value = value;
  defineProperty(target, key, descriptor);
  descriptor.value = undefined;
}
const descriptor: PropertyDescriptor = objectCreate(null);
descriptor.writable = true;
descriptor.configurable = true;

/**
 * Copies the values of an array in bulk, because listing a million index names takes longer than
 * everything else. Undefined if the array has holes or other properties, or is not genuine.
 */
function denseValues(source: readonly unknown[]): unknown[] | undefined {
  const values = objectValues(source);
  const { length } = values;
  if (length !== source.length) return undefined;
  // One hole and one other property cancel out in the count.
  for (let i = 0; i < length; i++) if (!hasOwn(source, i)) return undefined;
  return values;
}

/** The first index from `from` on whose value needs a copy of its own. */
function nextObject(values: ArrayLike<unknown>, from: number): number {
  let at = from;
  for (const { length } = values; at < length; at++) {
    const value = values[at];
    if (typeof value === 'number' || typeof value === 'string') continue;
    if (typeof value === 'symbol' || isObject(value)) break;
  }
  return at;
}

function copyBuffer(buffer: ArrayBuffer): ArrayBuffer {
  if (arrayBufferDetached(buffer)) throw uncloneable('A detached ArrayBuffer');
  return typedArrayBuffer(copyBytes(new Uint8ArrayIntrinsic(buffer)));
}

function isArrayBuffer(value: object): value is ArrayBuffer {
  try {
    arrayBufferByteLength(value);
    return true;
  } catch {
    return false;
  }
}

/** Names that a copy keeps; any other becomes `Error`. */
const constructors: Readonly<Record<string, ErrorConstructor | undefined>> = Object.assign(
  Object.create(null),
  {
    Error,
    EvalError,
    RangeError,
    ReferenceError,
    SyntaxError,
    TypeError,
    URIError,
  },
);

/**
 * Copies of errors (https://html.spec.whatwg.org/#structuredserializeinternal, the steps for
 * [[ErrorData]]).
 *
 * Copies name, message and, as engines do, stack; no other property.
 */
function copyError(error: object): Error {
  const name = toDOMString((error as { name?: unknown }).name);
  const message = ownValue(error, 'message');
  const text = message === undefined ? undefined : toDOMString(message.value);
  const { stack } = error as { stack?: unknown };
  const copy = new (constructors[name] ?? Error)();
  if (text !== undefined) {
    defineProperty(copy, 'message', { value: text, writable: true, configurable: true });
  }
  // An own property of the engine's form, whatever that of the copied error.
  if (typeof stack === 'string') copy.stack = stack;
  return copy;
}

/** The cause of an error, which engines clone too. */
const errorCause = (error: object): { value: unknown } | undefined => ownValue(error, 'cause');

/** The value of an own data property. */
function ownValue(target: object, key: string): { value: unknown } | undefined {
  const descriptor = getOwnPropertyDescriptor(target, key);
  return descriptor !== undefined && 'value' in descriptor ? { value: descriptor.value } : undefined;
}
