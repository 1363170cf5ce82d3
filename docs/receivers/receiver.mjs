/**
 * A webhook receiver for Node 20 or later, with nothing but Node: copy this one file.
 *
 *   WEBHOOK_SECRET='…' PORT=8080 node receiver.mjs
 *
 * Annex posts to https URLs by default: this listens on loopback, behind a proxy that terminates
 * TLS. In a framework, take `isGenuine` and give it the raw body.
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

// With an empty secret, anyone could sign.
if (WEBHOOK_SECRET === '') throw new Error('WEBHOOK_SECRET is not set.');

/**
 * Whether the secret signed these bytes; with a tolerance in seconds, whether lately.
 *
 * @param {string | undefined} header value of `X-Platform-Signature`
 * @param {Buffer} body the body exactly as received
 * @param {string} secret
 * @param {number} [tolerance]
 */
export function isGenuine(header = '', body, secret, tolerance = Number.POSITIVE_INFINITY) {
  /** @type {string | undefined} */
  let timestamp;
  /** @type {string[]} */
  const digests = [];
  for (const pair of header.split(',')) {
    const separator = pair.indexOf('=');
    const key = pair.slice(0, separator);
    const value = pair.slice(separator + 1);
    if (key === 't') {
      // A second `t` could give an old signature a new time.
      if (timestamp !== undefined || !/^[0-9]{1,16}$/.test(value)) return false;
      timestamp = value;
    } else if (key === 'v1') {
      if (!/^[0-9a-f]{64}$/.test(value)) return false;
      digests.push(value);
    }
  }
  if (timestamp === undefined) return false;
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
  // There are two during a rotation. Each is compared, in constant time.
  const matches = digests.map((digest) => timingSafeEqual(expected, Buffer.from(digest, 'hex')));
  return matches.includes(true) && Math.abs(Date.now() / 1_000 - Number(timestamp)) <= tolerance;
}

/** Id of each event of the last two minutes → time at which it came, oldest first. */
const recent = new Map();

/**
 * Whether the id is new; it is remembered then.
 *
 * @param {string} eventId
 */
function isNew(eventId) {
  const limit = Date.now() - WINDOW_MS;
  for (const [id, at] of recent) {
    if (at > limit) break;
    recent.delete(id);
  }
  if (recent.has(eventId)) return false;
  recent.set(eventId, Date.now());
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
  const header = request.headers['x-platform-signature']?.toString();
  // The body is not parsed before this check.
  if (!isGenuine(header, raw, WEBHOOK_SECRET, TOLERANCE_SECONDS)) {
    return { status: 401, body: { error: 'Invalid signature' } };
  }
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
