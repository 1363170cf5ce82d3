/**
 * A script that does what most integrations do, to be run once in an isolate that no tenant ever sees: what V8 has compiled
 * of the prelude by then goes into the code cache that every blank isolate starts from.
 *
 * It is ours, and the cache is made before any tenant code exists in the cell.
 */

/** The script's value, as a bundle's is: an async function that hands over the namespace of its entry module. */
export const WARM_UP_SCRIPT = `(async function (run) { run({ default: {
  fetch() {},
  [Symbol.for('annex.integration')]: {
    components: [],
    events: [],
    async handle({ event }, execution) {
      execution.waitUntil(Promise.resolve());
      const request = execution.request(event.request);
      request.headers.get('content-type');
      const { hello } = await request.clone().json();
      const bytes = new TextEncoder().encode(await request.text());
      new TextDecoder().decode(bytes);
      clearTimeout(setTimeout(() => {}, 1));
      console.log('hello', { hello });
      new Response('text', { status: 200, headers: { 'content-type': 'text/plain' } });
      return Response.json({ hello }, { headers: new Headers([['x-practice', 'yes']]) });
    },
  },
} }); })`;

/** An envelope for it. */
export const WARM_UP_CALL = {
  url: 'https://practice.invalid/v1',
  event: JSON.stringify({
    eventId: 'practice',
    type: 'fetch',
    request: {
      method: 'POST',
      url: 'https://practice.invalid/path?query=1',
      headers: { 'content-type': 'application/json', accept: '*/*' },
    },
  }),
  environment: JSON.stringify({ secrets: {}, integration: { name: 'practice' } }),
  body: '{"hello":"world"}',
};
