/**
 * Values that code of integrations keeps (docs/contract/storage.md): their keys, kinds and areas.
 *
 * An area is what one quota counts and what ends at once: that of an installation, for its code at
 * every level of it, or that of an integration, which all its installations share.
 */
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { limitError } from './limit-met.ts';

/** JSON text, or bytes. */
export const STORED_KINDS = ['json', 'bytes'] as const;
export type StoredKind = (typeof STORED_KINDS)[number];

export interface StorageArea {
  readonly integration: string;
  /**
   * When it was first published, in milliseconds since 1970. Attack: an integration is deleted, and
   * another owner publishes one of its name; a call of the former is still in flight, and writes.
   */
  readonly since: number;
  /** Absent for the area that all installations share. */
  readonly installationId?: string;
}

/** The area of the target's installation. @returns undefined at the level of the integration */
export const ownArea = (target: StorageArea): StorageArea | undefined =>
  target.installationId ? { ...sharedArea(target), installationId: target.installationId } : undefined;

/** The area that it shares with the other installations of its integration. */
export const sharedArea = ({ integration, since }: StorageArea): StorageArea => ({ integration, since });

/** Longest time that a value may be kept before it expires. */
export const EXPIRES_IN_S_MAX = 10 * 365 * 24 * 60 * 60;

/** Segments that the parser of a URL takes off its path, so that no request could name them. */
const DOT_SEGMENTS: readonly string[] = ['.', '..'];

/**
 * @param what names the key in a message
 * @throws AnnexError REQUEST_INVALID, REQUEST_TOO_LARGE
 */
export function checkKey(
  key: string,
  { storageKeyBytes: max }: Pick<Limits, 'storageKeyBytes'>,
  what = 'key',
): void {
  // Attack: half of a surrogate pair, which UTF-8 replaces, so that two keys would be one; and
  // U+0000, which PostgreSQL refuses.
  if (!key.isWellFormed() || key.includes('\0'))
    throw invalid(`${what} must be text without U+0000 and without half of a surrogate pair.`);
  if (DOT_SEGMENTS.includes(key)) throw invalid(`${what} may not be "." or "..", which no URL can hold.`);
  if (key === '') throw invalid(`${what} is empty.`);
  const used = Buffer.byteLength(key);
  if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'storageKeyBytes', max, used });
}

/** As `checkKey`, for the beginning of keys, which may be empty. */
export function checkPrefix(prefix: string, limits: Pick<Limits, 'storageKeyBytes'>, what = 'prefix'): void {
  if (prefix !== '' && !DOT_SEGMENTS.includes(prefix)) checkKey(prefix, limits, what);
}

/** @throws AnnexError REQUEST_TOO_LARGE */
export function checkValue(
  bytes: number,
  { storageValueBytes: max }: Pick<Limits, 'storageValueBytes'>,
): void {
  if (bytes > max) throw limitError('REQUEST_TOO_LARGE', { name: 'storageValueBytes', max, used: bytes });
}

const LAST_CODE_POINT = 0x10ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

/**
 * The least text that is greater than every text with this beginning, by code points, as both
 * engines sort. @returns undefined if there is none
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.last + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);
