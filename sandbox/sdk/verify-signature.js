/**
 * Verifies the signature of a webhook of Annex (docs/contract/webhooks.md#signature):
 * `X-Platform-Signature: t=<unix seconds>,v1=<hex>`, an HMAC-SHA256 over `<t>.<raw body>`.
 *
 * This file is part of `@annex/sdk`, and can be copied as it is into a project for Node (20 or
 * later), Deno, Bun, a worker or a browser: it imports nothing and needs only `crypto.subtle` and
 * `TextEncoder`. For that it is JavaScript with its types in comments.
 *
 * It does not read the request, keeps nothing, and does not parse the body.
 */

/**
 * Checks beyond the signature. Without them, a genuine request is valid at any time and any number
 * of times.
 *
 * @typedef {object} SignatureOptions
 * @property {number} [toleranceSeconds] how many seconds `t` may differ from now, in either
 *   direction; unlimited by default. It bounds the time in which a recorded request can be
 *   replayed, and has to allow for the difference of the two clocks: 300 is a good choice
 * @property {() => number} [now] clock in milliseconds since 1970; `Date.now` by default
 * @property {(id: string) => boolean | Promise<boolean>} [seen] returns whether the id was there
 *   before, and remembers it. Called last, only for genuine requests. The id is the same for the
 *   same time and body, whatever else is in the header. A retry is signed anew and has another id:
 *   deduplicate retries by `eventId`
 */

/**
 * Reason for which a request is not valid. For the receiver's log; the sender needs only a 401.
 *
 * - `missing`: there is no header
 * - `malformed`: the header has no `t` or no `v1`, two `t`, or a value of the wrong form
 * - `mismatch`: signed with another secret, or the body was changed on the way
 * - `too old`, `too new`: `t` is outside of `toleranceSeconds`
 * - `seen`: the same request was there before
 *
 * @typedef {'missing' | 'malformed' | 'mismatch' | 'too old' | 'too new' | 'seen'} SignatureFault
 */

/**
 * Result of `checkSignature`; `timestamp` is `t` in Unix seconds.
 *
 * @typedef {{ readonly valid: true, readonly timestamp: number } | { readonly valid: false,
 *   readonly reason: SignatureFault }} CheckedSignature
 */

/**
 * The body as received: its bytes, or its text.
 *
 * @typedef {string | ArrayBuffer | ArrayBufferView} RawBody
 */

const TIMESTAMP = /^[0-9]{1,16}$/;
const DIGEST = /^[0-9a-f]{64}$/;
/** Attack: a long header that makes parsing expensive. A genuine one is short. */
const HEADER_CHARS_MAX = 1_024;

/**
 * Whether a request is genuine (docs/contract/webhooks.md#signature).
 *
 * @param {string | null | undefined} header value of `X-Platform-Signature`, or of its name
 *   with the operator's prefix, as received
 * @param {RawBody} body the body exactly as received: bytes, or text if they are UTF-8. Never JSON
 *   that was parsed and serialized again
 * @param {string | readonly string[]} secret the shared secret, or several during a rotation, any
 *   of which may have signed
 * @param {SignatureOptions} [options] checks of time and replay
 * @returns {Promise<boolean>}
 * @throws {TypeError} if the secret is missing or empty, or the body is not raw
 *
 * @example
 * const header = request.headers.get('x-platform-signature');
 * const body = await request.text();
 * const options = { toleranceSeconds: 300 };
 * const isGenuine = await verifySignature(header, body, secret, options);
 * if (!isGenuine) return new Response('Unauthorized', { status: 401 });
 */
export async function verifySignature(header, body, secret, options) {
  return (await checkSignature(header, body, secret, options)).valid;
}

/**
 * `verifySignature` with the reason for which a request is not valid.
 *
 * @param {string | null | undefined} header value of `X-Platform-Signature`, or of its name
 *   with the operator's prefix, as received
 * @param {RawBody} body the body exactly as received
 * @param {string | readonly string[]} secret the shared secret, or several
 * @param {SignatureOptions} [options] checks of time and replay
 * @returns {Promise<CheckedSignature>}
 * @throws {TypeError} if the secret is missing or empty, or the body is not raw
 *
 * @example
 * const checked = await checkSignature(header, body, secret, { toleranceSeconds: 300 });
 * if (!checked.valid) console.warn('refused a webhook', checked.reason);
 */
export async function checkSignature(header, body, secret, options = {}) {
  // Wrong use throws instead of "invalid": a 401 ends a delivery, while a 500 is retried.
  const secrets = readSecrets(secret);
  const raw = readBody(body);
  const tolerance = readTolerance(options.toleranceSeconds);
  if (header === null || header === undefined) return { valid: false, reason: 'missing' };
  const claim = parseHeader(header);
  if (claim === undefined) return { valid: false, reason: 'malformed' };
  // The body is copied before the first await: a later change of it would not be verified.
  const signed = joined(`${claim.timestamp}.`, raw);
  const digests = await Promise.all(secrets.map((each) => digestOf(each, signed)));
  let valid = false;
  // Attack: timing. Every pair is compared in constant time, so that neither digest nor secret
  // leaks.
  for (const digest of digests)
    for (const candidate of claim.digests) if (isSame(digest, candidate)) valid = true;
  if (!valid) return { valid: false, reason: 'mismatch' };

  const timestamp = Number(claim.timestamp);
  const age = (options.now ?? Date.now)() / 1_000 - timestamp;
  if (age > tolerance) return { valid: false, reason: 'too old' };
  if (-age > tolerance) return { valid: false, reason: 'too new' };
  // Attack: replaying a request with one of several `v1` removed. The id is the digest by the first
  // secret, whichever secret signed.
  if (await options.seen?.(String(digests[0]))) return { valid: false, reason: 'seen' };
  return { valid: true, timestamp };
}

/**
 * @param {string} header
 * @returns {{ timestamp: string, digests: string[] } | undefined}
 */
function parseHeader(header) {
  if (header.length > HEADER_CHARS_MAX) return undefined;
  /** @type {string | undefined} */
  let timestamp;
  /** @type {string[]} */
  const digests = [];
  for (const pair of header.split(',')) {
    const separator = pair.indexOf('=');
    const key = pair.slice(0, separator);
    const value = pair.slice(separator + 1);
    if (key === 't') {
      // Attack: a second `t` that gives an old signature a new time.
      if (timestamp !== undefined || !TIMESTAMP.test(value)) return undefined;
      timestamp = value;
    } else if (key === 'v1') {
      if (!DIGEST.test(value)) return undefined;
      digests.push(value);
    }
  }
  return timestamp === undefined || digests.length === 0 ? undefined : { timestamp, digests };
}

/**
 * @param {string} secret
 * @param {Uint8Array<ArrayBuffer>} signed
 * @returns {Promise<string>} lower-case hex
 */
async function digestOf(secret, signed) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, [
    'sign',
  ]);
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Compares in constant time. Attack: guessing a digest digit by digit. Both have 64 characters.
 *
 * @param {string} one
 * @param {string} other
 */
function isSame(one, other) {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

/**
 * @param {string} before
 * @param {Uint8Array} bytes
 */
function joined(before, bytes) {
  const head = new TextEncoder().encode(before);
  const all = new Uint8Array(head.length + bytes.length);
  all.set(head);
  all.set(bytes, head.length);
  return all;
}

/**
 * Attack: signing with an empty secret, which an unset variable often becomes.
 *
 * @param {unknown} secret
 * @returns {readonly string[]}
 */
function readSecrets(secret) {
  const secrets = Array.isArray(secret) ? secret : [secret];
  const isGood = secrets.length > 0 && secrets.every((each) => typeof each === 'string' && each !== '');
  if (!isGood) throw new TypeError('The secret must be a text that is not empty, or a list of such');
  return secrets;
}

/**
 * @param {unknown} body
 * @returns {Uint8Array}
 */
function readBody(body) {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('The body must be the raw one, as bytes or text: what was parsed cannot be verified');
}

/** @param {number | undefined} seconds */
function readTolerance(seconds = Number.POSITIVE_INFINITY) {
  if (typeof seconds === 'number' && seconds >= 0) return seconds;
  throw new TypeError('toleranceSeconds must be a number from 0 on');
}
