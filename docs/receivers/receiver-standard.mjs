/**
 * A receiver of Standard Webhooks for Node 20 or later, with nothing but Node: copy this one file.
 *
 *   WEBHOOK_SECRET='whsec_…' PORT=8080 node receiver-standard.mjs
 *
 * Annex posts to https URLs by default: this listens on loopback, behind a proxy that terminates
 * TLS. In a framework, take `isGenuine` and give it the raw body, or use the library
 * `standardwebhooks`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;
/** A recorded request stays valid for this long. */
const TOLERANCE_SECONDS = 300;
/** Any sender can send a body of this size before its signature is checked. */
const BODY_BYTES_MAX = 1_048_576;
/** How long a received event is remembered. */
const WINDOW_MS = 120_000;

const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(WEBHOOK_SECRET) ?? [];
const KEY = Buffer.from(encoded, 'base64');
// With an empty secret, anyone could sign.
if (KEY.length === 0) throw new Error('WEBHOOK_SECRET is not set.');

/**
 * Whether the key signed these bytes lately.
 *
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {Buffer} body the body exactly as received
 * @param {Buffer} key
 */
export function isGenuine(headers, body, key) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  // A dot in the id could turn a part of it into another time.
  if (!/^[\w-]+$/.test(id) || !/^[0-9]{1,16}$/.test(timestamp)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  // There are two during a rotation. Each is compared, in constant time.
  const matches = signatures.split(' ').map((signature) => {
    const [, digest = ''] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature) ?? [];
    const bytes = Buffer.from(digest, 'base64');
    return bytes.length === expected.length && timingSafeEqual(expected, bytes);
  });
  return matches.includes(true) && Math.abs(Date.now() / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS;
}

/** Id of each event of the last two minutes → time at which it came, oldest first. */
const recent = new Map();

/**
 * Whether the id is new; it is remembered then.
 *
 * @param {string} id
 */
function isNew(id) {
  const limit = Date.now() - WINDOW_MS;
  for (const [other, at] of recent) {
    if (at > limit) break;
    recent.delete(other);
  }
  if (recent.has(id)) return false;
  recent.set(id, Date.now());
  return true;
}

/**
 * Put your own work here. It runs after the answer, for which Annex waits ten seconds: store an
 * event that must survive a crash of this process before you answer.
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
  // The body is not parsed before this check.
  if (!isGenuine(request.headers, raw, KEY)) return { status: 401, body: { error: 'Invalid signature' } };
  const event = JSON.parse(raw.toString());
  const accepted = { status: 200, body: { received: true } };
  return isNew(event.eventId) ? { ...accepted, event } : accepted;
}

const server = createServer(async (request, response) => {
  const { status, body, event } = await receive(request).catch((error) => {
    console.error(error);
    // Annex retries.
    return { status: 500, body: { error: 'Internal error' }, event: undefined };
  });
  // The unread rest of a refused request would be taken for the next one.
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
