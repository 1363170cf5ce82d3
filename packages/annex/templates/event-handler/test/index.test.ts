import { load } from '@annex/testing';
import { expect, test } from 'vitest';

const app = await load('.');

test('notes the revision of a space', async () => {
  const installation = await app.install();
  const deliveries = await installation.emit('space_content_updated', {
    spaceId: 'garden',
    revisionId: 'r1',
  });
  expect(deliveries).toMatchObject([{ state: 'delivered', attempts: 1 }]);
  expect(installation.logs.map(({ text }) => text)).toEqual(['garden is at revision r1']);
});

test('notes the rating of a page', async () => {
  const installation = await app.install();
  await installation.emit('page_feedback', {
    siteId: 'docs',
    feedback: { rating: 'good' },
    visitor: { anonymousId: 'v1', cookies: {}, userAgent: 'Test', ip: '192.0.2.1' },
    url: 'https://docs.example.com/start',
    referrer: '',
  });
  expect(installation.logs.map(({ text }) => text)).toEqual(['a page of docs is good']);
});
