/**
 * Schemas that several routes of the control listener share.
 *
 * Strings from outside are bounded and of a known alphabet before they reach the store: PostgreSQL,
 * for example, refuses text with U+0000, and such a request is the caller's mistake, not a fault of
 * Annex.
 */
import Type, { type TProperties, type TSchema, type TSchemaOptions } from 'typebox';
import { ID_CHARS_MAX, ORGANIZATION_ID, PLACE_ID } from '../../../model/identifiers.ts';

/** An object with a name of its own in the description and in clients. */
export const named = <Members extends TProperties>(
  title: string,
  members: Members,
  options: TSchemaOptions = {},
) => Type.Object(members, { title, ...options });

/** The same of what is sent: a member that is not listed is refused, not ignored. */
export const closed = <Members extends TProperties>(
  title: string,
  members: Members,
  options: TSchemaOptions = {},
) => named(title, members, { ...options, additionalProperties: false });

export const optional = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Optional(Type.With(schema, { description }));

/** A name or id in a path; whether it exists is checked later. */
export const Name = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });

export const Organization = Type.String({
  description: 'Id or subdomain of an organization of the host product.',
  maxLength: ID_CHARS_MAX,
  pattern: ORGANIZATION_ID.source,
});

export const Place = Type.String({
  description: 'Id of a space or a site of the host product.',
  maxLength: ID_CHARS_MAX,
  pattern: PLACE_ID.source,
});

/** Text for people without control characters, beside which other text could be forged. */
export const NO_CONTROLS = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$';

/** For a path without query parameters: an unknown parameter is refused, not ignored. */
export const NoQuery = Type.Object({}, { additionalProperties: false });

export const Time = Type.String({ format: 'date-time', maxLength: 64 });

export const LimitMetView = Type.Object(
  {
    name: Type.String({ description: 'The name ends with the unit.' }),
    max: Type.Number(),
    used: Type.Optional(Type.Number({ description: 'The value that was reached, if known.' })),
  },
  { title: 'LimitMet', description: 'The limit that was exceeded.' },
);

export const ProblemView = Type.Object(
  {
    severity: Type.Enum(['error', 'warning']),
    file: Type.Optional(Type.String()),
    line: Type.Optional(Type.Integer()),
    column: Type.Optional(Type.Integer()),
    property: Type.Optional(Type.String({ description: 'Property of a configuration.' })),
    path: Type.Optional(
      Type.String({ description: 'Path in the ContentKit tree that a component returned.' }),
    ),
    pointer: Type.Optional(
      Type.String({ description: 'JSON pointer into the data of an event, or into a declaration.' }),
    ),
    eventId: Type.Optional(Type.String({ description: 'The event that has the problem.' })),
    message: Type.String(),
    hint: Type.Optional(Type.String()),
    limit: Type.Optional(LimitMetView),
  },
  { title: 'Problem' },
);

/** Schema of every answer with status 400 and above. */
export const ErrorView = Type.Object({
  error: Type.Object(
    {
      code: Type.String(),
      status: Type.Integer({ description: 'The HTTP status.' }),
      message: Type.String(),
      requestId: Type.String(),
      problems: Type.Optional(Type.Array(ProblemView)),
      limit: Type.Optional(LimitMetView),
    },
    { additionalProperties: true },
  ),
});

/** The error answers, to spread into the `response` of a route. */
export const ERRORS_VIEW = { '4xx': ErrorView, '5xx': ErrorView };

export const isoTime = (at: number): string => new Date(at).toISOString();
export const isoTimeIfAny = (at?: number): string | undefined => (at === undefined ? undefined : isoTime(at));
