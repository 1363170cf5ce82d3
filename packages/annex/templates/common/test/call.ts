/** Calls an integration as Annex does: with an event and an environment, until its work is done. */
import type { Integration } from '@annex/sdk';

/** @param environment the members that the code under test reads */
export async function call(
  integration: Integration,
  event: object,
  environment: object = {},
): Promise<Response> {
  const form = new FormData();
  form.append('event', JSON.stringify({ eventId: 'test-1', ...event }));
  form.append('environment', JSON.stringify(environment));
  const { body } = event as { body?: string };
  if (body !== undefined) form.append('fetch-body', new Blob([body]), 'fetch-body');
  const work: Promise<unknown>[] = [];
  const request = new Request('http://annex.test/v1', { method: 'POST', body: form });
  const response = await integration.fetch(request, {}, { waitUntil: (promise) => void work.push(promise) });
  await Promise.all(work);
  return response;
}

/** The event of a request to the endpoint. */
export const requestEvent = (
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: string,
) => ({
  type: 'fetch',
  request: { method, url, headers },
  ...(body !== undefined && { body }),
});
