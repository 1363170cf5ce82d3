/**
 * The entity tags of installations, and conditional requests (RFC 9110, sections 8.8.3 and 13.1):
 * `If-Match` prevents two clients that edit the same installation from overwriting each other's
 * changes.
 *
 * A tag contains the beginning of the target's endpoint key, which no two targets share, and its
 * revision: a space that is removed and added again has another tag. The problems of a
 * configuration are part of what is read, and change with a publish, so the tag of a read includes
 * them; a change is conditional on the rest only. Clients treat tags as opaque.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { Installation } from '../../store/installations/target-rows.ts';
import { optional } from './schemas.ts';

type Conditional = Pick<FastifyRequest, 'headers'>;
type Tagged = Pick<Installation, 'endpointKey' | 'revision'>;

/** Header of a conditional change. */
export const IfMatch = Type.Object({
  'if-match': optional(Type.String(), 'Change it only if its `ETag` is one of these; otherwise 412.'),
});

/** Header of a conditional read. */
export const IfNoneMatch = Type.Object({
  'if-none-match': optional(
    Type.String(),
    'Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412 for a change.',
  ),
});

/** Five random bits each: enough to distinguish the targets that a place has had. */
const KEY_CHARS = 8;

const entityTag = ({ endpointKey, revision }: Tagged, problems: readonly object[] = []): string => {
  const problemsPart = problems.length === 0 ? '' : `-${digest(JSON.stringify(problems))}`;
  return `"${endpointKey.slice(0, KEY_CHARS)}-${revision}${problemsPart}"`;
};

const digest = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, KEY_CHARS);

/** A tag without its part for problems. */
const withoutProblems = (tag: string): string => tag.replace(/^("[^-]+-\d+)-[\w-]+"$/, '$1"');

/** Adds the tag of the installation in the answer. */
export const tagReply = (
  reply: FastifyReply,
  installation: Tagged,
  problems?: readonly object[],
): FastifyReply => reply.header('etag', entityTag(installation, problems));

/**
 * The revision that `If-Match` requires of a change, or undefined for any. Weak tags match nothing,
 * as the RFC requires.
 *
 * @throws AnnexError REQUEST_INVALID if the header is malformed, INSTALLATION_CHANGED if none of
 * its tags is the present one
 */
export function expectedRevision({ headers }: Conditional, present: Tagged): number | undefined {
  const tags = tagsOf('if-match', headers['if-match']);
  if (tags === undefined || tags === ANY) return undefined;
  if (tags.map(withoutProblems).includes(entityTag(present))) return present.revision;
  const message = `The installation has changed: If-Match is ${tags.join(', ').slice(0, SHOWN_CHARS)}, and its ETag is ${entityTag(present)} now. Read it again, then repeat the change.`;
  throw new AnnexError('INSTALLATION_CHANGED', message);
}

/**
 * Whether the client has the present state already, by `If-None-Match`. @throws AnnexError
 * REQUEST_INVALID if the header is malformed
 */
export const isKnown = (request: Conditional, present: Tagged, problems?: readonly object[]): boolean =>
  isKnownTag(request, entityTag(present, problems));

/** The strong tag of content that is sent byte for byte. */
export const contentTag = (content: string | Uint8Array): string =>
  `"${createHash('sha256').update(content).digest('base64url')}"`;

/**
 * As `isKnown`, for any other strong tag. @throws AnnexError REQUEST_INVALID if the header is
 * malformed
 */
export function isKnownTag({ headers }: Conditional, present: string): boolean {
  const tags = tagsOf('if-none-match', headers['if-none-match']);
  if (tags === undefined) return false;
  return tags === ANY || tags.some((tag) => tag.replace(/^W\//, '') === present);
}

/** The tags of a header; undefined if it is absent. @throws AnnexError REQUEST_INVALID */
export const requiredTags = ({ headers }: Conditional, header: 'if-match' | 'if-none-match') =>
  tagsOf(header, headers[header]);

const ANY = '*';
/** Characters of a header that a message repeats. */
const SHOWN_CHARS = 100;

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const EACH = new RegExp(TAG, 'g');
/** List elements may be empty (RFC 9110, section 5.6.1.2). */
const LIST = new RegExp(String.raw`^[\t ]*(?:${TAG}[\t ]*)?(?:,[\t ]*(?:${TAG}[\t ]*)?)*$`);

function tagsOf(header: string, value: string | undefined): typeof ANY | readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (value.trim() === ANY) return ANY;
  const tags = LIST.test(value) ? (value.match(EACH) ?? []) : [];
  if (tags.length > 0) return tags;
  const message = `headers.${header} must be * or entity tags as in ETag: in double quotes, separated by commas.`;
  throw new AnnexError('REQUEST_INVALID', message);
}
