/**
 * Who receives webhooks of Annex finds out with this whether a request is genuine (SPEC "Webhook signature", REFERENCE D25):
 * `X-Platform-Signature: t=<unix seconds>,v1=<hex>`, an HMAC-SHA256 over `<t>.<raw body>`.
 *
 * This one file is part of `@annex/sdk`, and can be copied as it is into a project for Node (20 or later), Deno, Bun, a worker
 * or a browser: it imports nothing and asks for `crypto.subtle` and `TextEncoder` alone. That is why it is JavaScript, with
 * its types in comments.
 *
 * It reads no request and no clock that it was not asked to read, keeps nothing, and does not look into the body.
 */

/**
 * Checks beyond the signature. Without any, a genuine request is believed whenever it comes, and however often.
 *
 * @typedef {object} SignatureOptions
 * @property {number} [toleranceSeconds] how far `t` may be from now, in either direction. An attacker who recorded a request
 *   can send it again for that long. Both clocks count: 300 is a good choice
 * @property {() => number} [now] milliseconds since 1970; `Date.now` unless given
 * @property {(id: string) => boolean | Promise<boolean>} [seen] tells whether the very same request has been here before, and
 *   remembers it. Asked last, only of genuine requests, with a text that is the same for the same time and body, whatever else
 *   is in the header. A delivery that Annex repeats is signed anew: for those, remember `eventId`
 */

/**
 * What of a request is wrong. For the receiver's log: whoever sent it needs to hear 401 and nothing else.
 *
 * - `missing`: there is no header
 * - `malformed`: it has no `t` or no `v1`, two `t`, or a value that cannot be one
 * - `mismatch`: signed with another secret, or something on the way has changed the body
 * - `too old`, `too new`: `toleranceSeconds` is exceeded
 * - `seen`: it has been here before
 *
 * @typedef {'missing' | 'malformed' | 'mismatch' | 'too old' | 'too new' | 'seen'} SignatureFault
 */

/**
 * @typedef {{ readonly valid: true, readonly timestamp: number } | { readonly valid: false, readonly reason: SignatureFault }} CheckedSignature
 *   `timestamp` is `t`: Unix seconds.
 */

/** What may be given as the raw body. @typedef {string | ArrayBuffer | ArrayBufferView} RawBody */

const TIMESTAMP = /^[0-9]{1,16}$/;
const DIGEST = /^[0-9a-f]{64}$/;
/** A header is short; a longer one is somebody trying how much parsing costs. */
const HEADER_CHARS_MAX = 1_024;

/**
 * Whether a request is genuine.
 *
 * @param {string | null | undefined} header value of `X-Platform-Signature`, as received
 * @param {RawBody} body the body exactly as received: bytes, or their text where they are UTF-8. Never JSON that was parsed and
 *   written again
 * @param {string | readonly string[]} secret the shared secret; where there are several, any of them may have signed
 * @param {SignatureOptions} [options]
 * @returns {Promise<boolean>}
 * @throws {TypeError} where this is called wrongly: no secret, an empty one, a body that is not raw
 */
export async function verifySignature(header, body, secret, options) {
  return (await checkSignature(header, body, secret, options)).valid;
}

/**
 * As `verifySignature`, and tells what is wrong.
 *
 * @param {string | null | undefined} header
 * @param {RawBody} body
 * @param {string | readonly string[]} secret
 * @param {SignatureOptions} [options]
 * @returns {Promise<CheckedSignature>}
 */
export async function checkSignature(header, body, secret, options = {}) {
  // Wrong use throws and does not answer "invalid": 401 ends a delivery for good, whereas one that met a fault is repeated.
  const secrets = readSecrets(secret);
  const raw = readBody(body);
  const tolerance = readTolerance(options.toleranceSeconds);
  if (header === null || header === undefined) return { valid: false, reason: 'missing' };
  const claim = parseHeader(header);
  if (claim === undefined) return { valid: false, reason: 'malformed' };
  // The body is copied before anything is awaited: what is changed in it meanwhile has not been verified.
  const signed = joined(`${claim.timestamp}.`, raw);
  const digests = await Promise.all(secrets.map((each) => digestOf(each, signed)));
  let valid = false;
  // Every pair is compared, in constant time, so that timing tells neither the digest nor which secret it was.
  for (const digest of digests)
    for (const candidate of claim.digests) if (isSame(digest, candidate)) valid = true;
  if (!valid) return { valid: false, reason: 'mismatch' };

  const timestamp = Number(claim.timestamp);
  const age = (options.now ?? Date.now)() / 1_000 - timestamp;
  if (age > tolerance) return { valid: false, reason: 'too old' };
  if (-age > tolerance) return { valid: false, reason: 'too new' };
  // The digest by the receiver's first secret, even where another one has signed: taking one of several `v1` out of the header
  // makes no new request of an old one.
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
      // A second timestamp would let an old signature vouch for a new time.
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
 * Takes the same time wherever two digests differ, or else one could be guessed digit by digit. Both have 64 characters.
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
 * With an empty secret, which is what an unset variable often becomes, anybody could sign.
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
