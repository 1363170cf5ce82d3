import { afterEach, expect, test, vi } from 'vitest';
import integration from '../src/index.ts';
import { call } from './call.ts';

afterEach(() => vi.restoreAllMocks());

test('notes the revision of a space', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const answer = await call(integration, {
    type: 'space_content_updated',
    spaceId: 'garden',
    revisionId: 'r1',
  });
  expect(answer.ok).toBe(true);
  expect(log).toHaveBeenCalledWith('garden is at revision r1');
});

test('notes the rating of a page', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await call(integration, { type: 'page_feedback', siteId: 'docs', feedback: { rating: 'good' } });
  expect(log).toHaveBeenCalledWith('a page of docs is good');
});
