/**
 * A script that does what most integrations do. It runs once in an isolate that no tenant ever
 * sees: the functions of the prelude that V8 has compiled by then go into the code cache, from
 * which every blank isolate starts.
 *
 * The script is Annex's own, and the cache is made before any tenant code exists in the cell.
 */

/**
 * Its value is that of a bundle: an async function that passes on the namespace of its entry
 * module.
 */
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
      return Response.json({ hello }, { headers: new Headers([['x-warm-up', 'yes']]) });
    },
  },
} }); })`;

/** An envelope for it. */
export const WARM_UP_CALL = {
  url: 'https://warm-up.invalid/v1',
  event: JSON.stringify({
    eventId: 'warm-up',
    type: 'fetch',
    request: {
      method: 'POST',
      url: 'https://warm-up.invalid/path?query=1',
      headers: { 'content-type': 'application/json', accept: '*/*' },
    },
  }),
  environment: JSON.stringify({ secrets: {}, integration: { name: 'warm-up' } }),
  body: '{"hello":"world"}',
};
