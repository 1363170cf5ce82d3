/**
 * What happens in a session of `annex dev`, as `--json` prints it, one a line, and as the page
 * receives it.
 */
import Type, { type Static } from 'typebox';
import type { DeliveryChange, LogLine, Rendering } from '../../../packages/client/src/index.ts';
import { PROBLEM } from '../../cli/upload/prepared-upload.ts';

const ANY = Type.Object({}, { additionalProperties: Type.Unknown() });

export const DEV_EVENT = Type.Union([
  Type.Object({
    event: Type.Literal('started'),
    folder: Type.String(),
    service: Type.String({ description: 'The API of the service.' }),
    page: Type.String({ description: 'Address of the page.' }),
    inspector: Type.Optional(Type.String({ description: 'Host and port for debuggers.' })),
  }),
  Type.Object({
    event: Type.Literal('live'),
    integration: Type.String(),
    version: Type.Integer(),
    durationMs: Type.Integer({ description: 'From the first change of a file that is in it.' }),
    installation: Type.String(),
    status: Type.Enum(['active', 'pending', 'paused']),
    endpoint: Type.String(),
    problems: Type.Array(PROBLEM, { description: 'Warnings.' }),
  }),
  Type.Object({
    event: Type.Literal('refused'),
    version: Type.Union([Type.Integer(), Type.Null()], { description: 'The version that goes on.' }),
    problems: Type.Array(PROBLEM),
  }),
  Type.Object({
    event: Type.Literal('failed'),
    message: Type.String(),
    hint: Type.Optional(Type.String()),
  }),
  Type.Object({ event: Type.Literal('log'), line: ANY }),
  Type.Object({ event: Type.Literal('delivery'), change: ANY }),
  Type.Object({ event: Type.Literal('rendered'), component: Type.String(), rendering: ANY }),
  Type.Object({
    event: Type.Literal('triggered'),
    type: Type.String(),
    eventId: Type.String(),
    deliveries: Type.Integer(),
  }),
]);

type Declared = Static<typeof DEV_EVENT>;

/** The same with the types of the API. */
export type DevEvent =
  | Exclude<Declared, { event: 'log' | 'delivery' | 'rendered' }>
  | { readonly event: 'log'; readonly line: LogLine }
  | { readonly event: 'delivery'; readonly change: DeliveryChange }
  | { readonly event: 'rendered'; readonly component: string; readonly rendering: Rendering };
