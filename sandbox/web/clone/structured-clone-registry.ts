/**
 * The platform objects that `structuredClone` can copy
 * (https://html.spec.whatwg.org/#serializable-objects).
 *
 * A module that defines such a class registers it when it is evaluated, so that cloning does not
 * import the class and the class can be loaded lazily. A platform object of another class cannot be
 * cloned.
 */
import { MapIntrinsic, mapGet, mapSet } from '../primordials.ts';

export interface Serializable<T extends object> {
  /** A genuine instance, whatever its prototype says. */
  is(value: object): value is T;
  /** A copy, made from internal state only. */
  clone(value: T): T;
}

/** Platform objects that can be transferred, besides ArrayBuffers. */
export interface Transferable {
  is(value: object): boolean;
  /** Whether the object was transferred before. */
  isDetached(value: object): boolean;
  /** Detaches the object. @returns its replacement */
  move(value: object): object;
}

let transferable: Transferable | undefined;

export function registerTransferable(entered: Transferable): void {
  transferable = entered;
}

/** How an object is transferred; undefined if it cannot be. */
export const findTransferable = (value: object): Transferable | undefined =>
  transferable?.is(value) ? transferable : undefined;

const byPrototype = new MapIntrinsic<object, Serializable<object>>();

/**
 * @param prototype of the class; an instance of an unregistered subclass is cloned as one of this
 *   class
 */
export function registerSerializable<T extends object>(prototype: T, serializable: Serializable<T>): void {
  mapSet(byPrototype, prototype, serializable as unknown as Serializable<object>);
}

export const findSerializable = (prototype: object): Serializable<object> | undefined =>
  mapGet(byPrototype, prototype);
