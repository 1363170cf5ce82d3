/**
 * The platform objects that `structuredClone` can copy (https://html.spec.whatwg.org/#serializable-objects).
 *
 * A module that defines such a class enters it here when it is evaluated, so that cloning neither imports the class nor
 * keeps it from being loaded late. Whatever has the shape of a platform object and is not entered cannot be cloned.
 */
import { MapIntrinsic, mapGet, mapSet } from '../primordials.ts';

export interface Serializable<T extends object> {
  /** A genuine instance, whatever its prototype says. */
  is(value: object): value is T;
  /** A copy, made from internal state alone. */
  clone(value: T): T;
}

/** Platform objects that can be transferred; ArrayBuffers are known by themselves. */
export interface Transferable {
  is(value: object): boolean;
  /** It was transferred before. */
  isDetached(value: object): boolean;
  /** Detaches it. @returns what takes its place */
  move(value: object): object;
}

let transferable: Transferable | undefined;

export function registerTransferable(entered: Transferable): void {
  transferable = entered;
}

/** How an object is transferred; undefined where it cannot be. */
export const findTransferable = (value: object): Transferable | undefined =>
  transferable?.is(value) ? transferable : undefined;

const byPrototype = new MapIntrinsic<object, Serializable<object>>();

/** @param prototype of the class; instances of a subclass that is not entered are cloned as instances of this one */
export function registerSerializable<T extends object>(prototype: T, serializable: Serializable<T>): void {
  mapSet(byPrototype, prototype, serializable as unknown as Serializable<object>);
}

export const findSerializable = (prototype: object): Serializable<object> | undefined =>
  mapGet(byPrototype, prototype);
