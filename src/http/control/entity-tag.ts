/**
 * The entity tag of an installation, and the requests that are made on condition of one (RFC 9110, sections 8.8.3 and 13.1):
 * `If-Match` keeps two who edit the same thing from undoing each other's work unseen.
 *
 * The tag is made of the beginning of the target's endpoint key, which no two targets share, and of how often it has changed:
 * a space that is taken out and added again is never mistaken for what it was. What keeps a configuration from being valid
 * is part of what is read, and changes with a publish, so it is in the tag of a reading; a change is made on condition of
 * the rest alone. To clients it is opaque.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import type { Installation } from '../../store/installations/target-rows.ts';

type Conditional = Pick<FastifyRequest, 'headers'>;
type Tagged = Pick<Installation, 'endpointKey' | 'revision'>;

/** What a change may be made on condition of. */
export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'Only where its `ETag` is one of these; 412 where it is not.' }),
  ),
});

/** What a reading may be made on condition of. */
export const IfNoneMatch = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({ description: 'Only where its `ETag` is none of these; 304 where it is one.' }),
  ),
});

/** Five random bits each: enough to tell those apart that have been at the same place. */
const KEY_CHARS = 8;

const entityTag = ({ endpointKey, revision }: Tagged, problems: readonly object[] = []): string => {
  const told = problems.length === 0 ? '' : `-${digest(JSON.stringify(problems))}`;
  return `"${endpointKey.slice(0, KEY_CHARS)}-${revision}${told}"`;
};

const digest = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, KEY_CHARS);

/** A tag without what it says of problems. */
const withoutProblems = (tag: string): string => tag.replace(/^("[^-]+-\d+)-[\w-]+"$/, '$1"');

/** Sends along the tag of the one installation that is answered. */
export const tagReply = (
  reply: FastifyReply,
  installation: Tagged,
  problems?: readonly object[],
): FastifyReply => reply.header('etag', entityTag(installation, problems));

/**
 * What `If-Match` asks of a change: the revision that the store must find, or undefined where any will do. Weak tags match
 * nothing here, as the RFC has it.
 *
 * @throws `REQUEST_INVALID` where the header is malformed, `INSTALLATION_CHANGED` where no tag of it is the present one
 */
export function expectedRevision({ headers }: Conditional, present: Tagged): number | undefined {
  const tags = tagsOf('if-match', headers['if-match']);
  if (tags === undefined || tags === ANY) return undefined;
  if (tags.map(withoutProblems).includes(entityTag(present))) return present.revision;
  const message = `It has changed: If-Match says ${tags.join(', ').slice(0, SHOWN_CHARS)}, and it is ${entityTag(present)} now. Read it again, and change that.`;
  throw new AnnexError('INSTALLATION_CHANGED', message);
}

/** Whether the caller has what it asks for already, by `If-None-Match`. @throws `REQUEST_INVALID` where that is malformed */
export const isKnown = (request: Conditional, present: Tagged, problems?: readonly object[]): boolean =>
  isKnownTag(request, entityTag(present, problems));

/** The strong tag of what is sent byte for byte as it is here. */
export const contentTag = (content: string | Uint8Array): string =>
  `"${createHash('sha256').update(content).digest('base64url')}"`;

/** The same of any other strong tag. @throws `REQUEST_INVALID` where the header is malformed */
export function isKnownTag({ headers }: Conditional, present: string): boolean {
  const tags = tagsOf('if-none-match', headers['if-none-match']);
  if (tags === undefined) return false;
  return tags === ANY || tags.some((tag) => tag.replace(/^W\//, '') === present);
}

const ANY = '*';
/** How much of a header a message repeats. */
const SHOWN_CHARS = 100;

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const EACH = new RegExp(TAG, 'g');
/** Elements of a list may be empty (RFC 9110, section 5.6.1.2). */
const LIST = new RegExp(String.raw`^[\t ]*(?:${TAG}[\t ]*)?(?:,[\t ]*(?:${TAG}[\t ]*)?)*$`);

function tagsOf(header: string, value: string | undefined): typeof ANY | readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (value.trim() === ANY) return ANY;
  const tags = LIST.test(value) ? (value.match(EACH) ?? []) : [];
  if (tags.length > 0) return tags;
  const message = `headers.${header} must be * or entity tags as ETag shows them, in double quotes, with commas between.`;
  throw new AnnexError('REQUEST_INVALID', message);
}
