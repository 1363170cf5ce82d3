/** `/v1/activity`: what the service did in the last day. For the operator and the host product. */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { isPlatform } from '../../../model/principal.ts';
import { STEP_MS } from '../../store/activity.ts';
import { holderOf } from './authenticate.ts';
import { route } from './route.ts';
import { isoTime, named, optional, Time } from './schemas.ts';

const count = (description?: string) =>
  Type.Integer({ minimum: 0, ...(description !== undefined && { description }) });
const Milliseconds = (quantile: string) =>
  optional(
    Type.Number(),
    `${quantile} of the wall times of calls, at most a fifth too high; absent without calls.`,
  );

const ActivityView = named('Activity', {
  stepSeconds: Type.Integer({ description: 'Of a point.' }),
  points: Type.Array(
    Type.Object({
      at: Time,
      calls: count(),
      errors: count('Calls that ended in another outcome than `ok`.'),
      p50Ms: Milliseconds('Half'),
      p99Ms: Milliseconds('99 %'),
      delivered: count(),
      failed: count(),
      waiting: count('Pending deliveries, at most, like the following.'),
      cells: count(),
      cellBytes: count('Resident memory of the cells.'),
      contained: count('Installations that are suspected or in quarantine.'),
    }),
    { description: 'Oldest first. A step in which no node ran is absent.' },
  ),
});

export const ACTIVITY_ROUTES = [
  route({
    name: 'activity.read',
    at: 'GET /activity',
    summary: 'Read what the service did in the last day',
    answer: ActivityView,
    async handle(request, { activity }) {
      const holder = holderOf(request);
      if (!isPlatform(holder))
        throw new AnnexError('TOKEN_FORBIDDEN', `A token of kind ${holder.kind} may not read the activity.`);
      const points = await activity.read();
      return {
        stepSeconds: STEP_MS / 1_000,
        points: points.map(({ at, ...counts }) => ({ at: isoTime(at), ...counts })),
      };
    },
  }),
];
