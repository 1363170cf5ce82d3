/** The types of the client, which the compiler checks. */
import { expectTypeOf, test } from 'vitest';
import {
  Annex,
  type AnnexError,
  type Delivery,
  type DeliveryChange,
  type Installation,
  type LogLine,
  type Page,
  type Problem,
} from '../../../packages/client/src/index.ts';

const annex = new Annex({ url: 'http://annex.example', fetch: async () => Response.json({}) });

test('an answer has the type of its route', () => {
  expectTypeOf(annex.installations.get('a', 'b')).resolves.toEqualTypeOf<Installation>();
  expectTypeOf(annex.installations.get('a', 'b', { ifNoneMatch: '"1"' })).resolves.toEqualTypeOf<
    Installation | undefined
  >();
  expectTypeOf(annex.deliveries.list({ state: 'failed' })).resolves.toEqualTypeOf<Page<Delivery>>();
  expectTypeOf(annex.deliveries.all()).toExtend<AsyncIterable<Delivery>>();
  expectTypeOf(annex.deliveries.follow()).toExtend<AsyncIterable<DeliveryChange>>();
  expectTypeOf(annex.logs.follow({ installation: 'a' })).toExtend<AsyncIterable<LogLine>>();
  expectTypeOf(annex.images.get('a', 'b')).resolves.toEqualTypeOf<Blob>();
  expectTypeOf(annex.sites.getScript('a', 'b', 'c')).resolves.toEqualTypeOf<string>();
  expectTypeOf(annex.tokens.delete('a')).resolves.toEqualTypeOf<void>();
  expectTypeOf(annex.request<number>('GET', '/v1/x')).resolves.toEqualTypeOf<number>();
});

test('an error has the codes of the API', () => {
  expectTypeOf<'INSTALLATION_UNKNOWN'>().toExtend<AnnexError['code']>();
  expectTypeOf<'NO_CODE'>().not.toExtend<AnnexError['code']>();
  expectTypeOf<AnnexError['problems']>().toEqualTypeOf<readonly Problem[]>();
});

/** Never called: each line below is refused by the compiler. */
export const refused = [
  // @ts-expect-error an unknown state
  () => annex.deliveries.list({ state: 'lost' }),
  // @ts-expect-error an unknown parameter
  () => annex.deliveries.list({ colour: 'red' }),
  // @ts-expect-error no name of the integration
  () => annex.installations.list(),
  // @ts-expect-error a space without an id
  () => annex.spaces.create('a', 'b', {}),
  // @ts-expect-error an event without its organization
  () => annex.events.post({ type: 'space_content_updated', spaceId: 'a', revisionId: 'b' }),
  // @ts-expect-error pages are followed by the iterator itself
  () => annex.deliveries.all({ cursor: 'a' }),
  // @ts-expect-error no URL
  () => new Annex({}),
];
