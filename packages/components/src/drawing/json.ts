/**
 * Reads members of JSON that a tenant wrote: own members alone, each with the type that the reader
 * names. Anything else is absent.
 */
import type { JsonObject } from '../transport.ts';

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Attack: a member that is not the object's own, such as `constructor`, read as if it were data.
 */
export const member = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

export const textMember = (object: JsonObject, name: string): string | undefined => {
  const value = member(object, name);
  return typeof value === 'string' ? value : undefined;
};

/** A number that can be used in a style. */
export const numberMember = (object: JsonObject, name: string): number | undefined => {
  const value = member(object, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};

export const objectMember = (object: JsonObject, name: string): JsonObject | undefined => {
  const value = member(object, name);
  return isObject(value) ? value : undefined;
};

export const listMember = (object: JsonObject, name: string): readonly unknown[] | undefined => {
  const value = member(object, name);
  return Array.isArray(value) ? value : undefined;
};
