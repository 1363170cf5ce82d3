/** A line of a log as the API shows it: in the list, and as the data of an event. */
import Type from 'typebox';
import { LOG_LEVELS } from '../../protocol/wire.ts';
import type { StoredLine } from '../../store/logs.ts';
import { isoTime, Time } from './schemas.ts';

export const LineView = Type.Object(
  {
    id: Type.String(),
    installation: Type.Optional(Type.String()),
    integration: Type.Optional(Type.String({ description: 'For a line of its own endpoint.' })),
    version: Type.Integer(),
    requestId: Type.String(),
    level: Type.Enum([...LOG_LEVELS]),
    text: Type.String(),
    at: Time,
  },
  { title: 'LogLine' },
);

/** What a line belongs to, as it is shown. */
export type LineOf = { readonly installation: string } | { readonly integration: string };

export const lineView = ({ tenant: _, at, ...rest }: StoredLine, of: LineOf) => ({
  ...rest,
  ...of,
  at: isoTime(at),
});
