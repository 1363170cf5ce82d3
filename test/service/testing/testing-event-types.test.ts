/** Event types of the product under `@annex/testing`: declared, checked and delivered. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { load } from '../../../packages/testing/src/index.ts';
import { folderOf } from '../../support/testing-folders.ts';

const INVOICING = fileURLToPath(new URL('../../../fixtures/invoicing', import.meta.url));
const invoice = { number: 'R-1', customer: 'Corner Bakery', amount: 12_000, currency: 'EUR' };

test('events of a file of types are delivered, and data that does not fit is refused', async () => {
  const app = await load(INVOICING, { eventTypes: 'event-types.yaml' });
  const installation = await app.install({ spaces: { bakeries: {} } });
  expect(await installation.emit('invoice.sent', { data: invoice })).toMatchObject([
    { type: 'invoice.sent', state: 'delivered' },
  ]);
  expect(installation.storedKeys).toMatchObject([{ key: 'invoice/bakeries/R-1' }]);
  expect(await installation.call('owed', { customer: 'Corner Bakery' })).toMatchObject({
    owed: ['€120.00'],
  });
  const wrong = { ...invoice, amount: 'much' };
  await expect(installation.emit('invoice.paid', { data: wrong })).rejects.toMatchObject({
    ...{ code: 'EVENT_DATA_INVALID', problems: [{ pointer: '/amount' }] },
  });
  await installation.addTo({ space: 'mills' });
  await installation.emit('invoice.sent', { space: 'mills', data: invoice });
  expect(installation.storedKeys).toHaveLength(2);
  await expect(installation.emit('invoice.lost')).rejects.toThrow('is not a type that can be posted');
});

const CODE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  events: { 'order.made': ({ data }) => console.log(JSON.stringify(data)) },
});`;
const SCOPED = "scopes: ['orders:read']\n";
const made = (sample: object) => ({
  'order.made': {
    ...{ title: 'Order made', level: 'organization', sample },
    scope: { name: 'orders:read', description: 'Read orders.' },
    schema: { type: 'object', required: ['count'], properties: { count: { type: 'integer' } } },
  },
});

test('an event without data is the sample of its type, also after the type has changed', async () => {
  const folder = await folderOf(CODE, SCOPED);
  for (const count of [3, 4]) {
    const app = await load(folder, { eventTypes: made({ count }) });
    const installation = await app.install();
    expect(await installation.emit('order.made')).toMatchObject([{ state: 'delivered' }]);
    expect(installation.logs.map(({ text }) => text)).toContain(`{"count":${count}}`);
  }
});

test('a type that cannot be declared is an error of load(), with its place', async () => {
  const folder = await folderOf(CODE, SCOPED);
  await expect(load(folder, { eventTypes: made({ count: 'many' }) })).rejects.toThrow(
    /eventTypes:1:\d+: order.made: sample\/count .*the sample must fit the schema/,
  );
  await expect(load(folder, { eventTypes: { space_view: { title: 'x', level: 'space' } } })).rejects.toThrow(
    'is a type that Annex defines',
  );
  await expect(load(folder, { eventTypes: 'absent.yaml' })).rejects.toThrow('absent.yaml');
});
