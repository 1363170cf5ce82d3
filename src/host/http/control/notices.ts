/**
 * `/v1/notices`: what the host product has to know, as it is posted to it
 * (docs/contract/notices.md). For the operator and the host product: a notice may be of any
 * organization.
 */
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { isPlatform } from '../../../model/principal.ts';
import { NOTICE_TYPES } from '../../../model/product-notice.ts';
import { DELIVERY_STATES } from '../../database/tables.ts';
import type { StoredNotice } from '../../store/product-notices.ts';
import { holderOf } from './authenticate.ts';
import { PAGE_QUERY, PageOf, pageAnswer, pageRequest, TIME_RANGE, timeRange } from './lists.ts';
import { route } from './route.ts';
import { named, optional, Time } from './schemas.ts';

/** Form of the keys of the list: ids of a `Sequence`. */
const NOTICE_KEY = /^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}$/;

const POSTED = {
  id: Type.String(),
  type: Type.Enum([...NOTICE_TYPES]),
  createdAt: Time,
  organization: Type.String({
    description: 'The one that installed; of an integration as a whole, its owner.',
  }),
  integration: Type.String(),
  installation: Type.Optional(Type.String()),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  details: Type.Optional(
    Type.Unsafe<Record<string, string | number>>(
      Type.Object({}, { additionalProperties: true, description: 'A few facts, by type.' }),
    ),
  ),
};

const Posted = Type.Object(POSTED);

const NoticeView = named('Notice', {
  ...POSTED,
  delivery: optional(
    Type.Object({
      id: Type.String(),
      state: Type.Enum([...DELIVERY_STATES]),
      attempts: Type.Integer(),
      outcome: Type.Optional(Type.String()),
    }),
    'Of its post; absent without `--notify-url`, and once the delivery is not kept any more.',
  ),
});

export const NOTICE_ROUTES = [
  route({
    name: 'notices.list',
    at: 'GET /notices',
    summary: 'List notices to the host product, newest first',
    query: Type.Object(
      { ...PAGE_QUERY, ...TIME_RANGE, type: Type.Optional(Type.Enum([...NOTICE_TYPES])) },
      { additionalProperties: false },
    ),
    answer: PageOf(NoticeView),
    async handle(request, { productNotices }) {
      const holder = holderOf(request);
      if (!isPlatform(holder))
        throw new AnnexError('TOKEN_FORBIDDEN', `A token of kind ${holder.kind} may not read notices.`);
      const { type, from, to, ...query } = request.query;
      const times = timeRange('query', {
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
      });
      const found = await productNotices.list({ ...pageRequest(query, NOTICE_KEY), ...times, type });
      return pageAnswer(found, noticeView);
    },
  }),
];

const noticeView = ({ body, delivery }: StoredNotice) => ({
  ...(JSON.parse(body) as Static<typeof Posted>),
  ...(delivery && { delivery }),
});
