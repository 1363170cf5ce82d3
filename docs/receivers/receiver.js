/**
 * A receiver of webhooks for Node 20 or later, with nothing but Node.
 *
 *   WEBHOOK_SECRET='…' PORT=8080 node receiver.js
 *
 * Copy it together with `verify-signature.js` and `recent-ids.js`, and import them from './'. Annex posts to https URLs only
 * unless told otherwise: this listens on loopback, behind whatever ends TLS.
 */
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { recentIds } from '../../sandbox/sdk/recent-ids.js';
import { verifySignature } from '../../sandbox/sdk/verify-signature.js';

const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;
/** A recorded request can be sent again for this long. */
const TOLERANCE_SECONDS = 300;
/** Before the signature is known to be good, whoever sends may send anything. */
const BODY_BYTES_MAX = 1_048_576;

// An empty secret is one that everybody knows.
if (WEBHOOK_SECRET === '') throw new Error('WEBHOOK_SECRET is not set.');
const recent = recentIds();

/**
 * Put your own work here. It runs after the answer, which Annex waits ten seconds for: an event that must survive a crash of
 * this process is stored first, and answered then.
 *
 * @param {{ eventId: string, type: string }} event
 */
async function handle(event) {
  console.log(`${event.type} ${event.eventId}`);
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<{ status: number, body: object, event?: { eventId: string, type: string } }>}
 */
async function receive(request) {
  if (request.method !== 'POST') return { status: 405, body: { error: 'Method not allowed' } };
  const length = request.headers['content-length'];
  if (length === undefined) return { status: 411, body: { error: 'Length required' } };
  if (Number(length) > BODY_BYTES_MAX) return { status: 413, body: { error: 'Too large' } };
  const raw = await buffer(request);
  const header = request.headers['x-platform-signature'];
  const genuine = await verifySignature(String(header ?? ''), raw, WEBHOOK_SECRET, {
    toleranceSeconds: TOLERANCE_SECONDS,
  });
  // Nothing of the body is looked at before this.
  if (!genuine) return { status: 401, body: { error: 'Invalid signature' } };
  const event = JSON.parse(raw.toString());
  const accepted = { status: 200, body: { received: true } };
  return recent.add(event.eventId) ? { ...accepted, event } : accepted;
}

const server = createServer(async (request, response) => {
  const { status, body, event } = await receive(request).catch((error) => {
    console.error(error);
    // Annex tries again.
    return { status: 500, body: { error: 'Internal error' }, event: undefined };
  });
  // What has not been read of a refused request is in the way of the next one.
  const close = request.complete ? {} : { connection: 'close' };
  response.writeHead(status, { 'content-type': 'application/json', ...close });
  response.end(JSON.stringify(body));
  if (event !== undefined) await handle(event).catch(console.error);
});
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object')
    console.log(`listening on http://127.0.0.1:${address.port}`);
});
