/**
 * Formats of names and keys, and the functions that generate new ones.
 *
 * The source of randomness is a parameter, so everything here is pure. Unguessable values (endpoint
 * keys, signing secrets) have at least 160 random bits; ids of installations and tokens are not
 * secret and only must not collide.
 */

/** A source of cryptographic randomness, `node:crypto`'s `randomBytes` in the running service. */
export type RandomBytes = (size: number) => Uint8Array;

/**
 * Name of an integration (`docs/contract/manifest.md#members`), short enough for a DNS label.
 * Capitals are read; names of two organizations never differ only in them.
 */
export const INTEGRATION_NAME = /^(?=.{1,63}$)[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/;
/** A name as it should be written. */
export const PLAIN_INTEGRATION_NAME = /^(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*$/;

/** Maximum characters of the id of an organization, a space or a site. */
export const ID_CHARS_MAX = 128;

/**
 * Id or subdomain of an organization. Annex does not own organizations: the host product names
 * them.
 */
export const ORGANIZATION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Subdomain of an organization: a label of DNS. */
export const SUBDOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Owner of the built-in integrations. No token is ever issued for it. */
export const BUILT_IN_ORGANIZATION = 'annex.built-in';

/** Names of the built-in integrations. */
export const BUILT_INS = ['webhook'] as const;

/** Name of a built-in integration once an integration of an organization has its first name. */
export const movedBuiltIn = (name: string): string => `${name}-built-in`;

/** Id of a space or a site, also chosen by the host product. */
export const PLACE_ID = ORGANIZATION_ID;

/** Type of an event that a product declares (`docs/contract/events.md#declared-types`). */
export const EVENT_TYPE = /^(?=.{1,128}$)[a-z0-9_]+(?:\.[a-z0-9_]+)*$/;

/** Whether a text selects several declared types: `*`, or their beginning, `invoice.*`. */
export const isEventPattern = (text: string): boolean => EVENT_PATTERN.test(text);
const EVENT_PATTERN = /^(?=.{1,130}$)(?:[a-z0-9_]+\.)*\*$/;

/**
 * Form of an endpoint key. A text that does not match is refused without a look-up in the store.
 */
export const ENDPOINT_KEY = /^[a-z2-7]{32}$/;

/**
 * Opaque key of a public endpoint (`docs/contract/endpoints.md#urls`): 160 random bits, usable as a
 * path segment and as a DNS label.
 */
export const endpointKey = (random: RandomBytes): string => base32(random(20));

export const installationId = (random: RandomBytes): string => `ins_${base32(random(15))}`;

/**
 * Id of a lifecycle event of an installation. Integrations use it to recognise a repeated delivery.
 */
export const lifecycleEventId = (random: RandomBytes): string => `evt_${base32(random(15))}`;

/** Id of an event that the product posted without an id. */
export const productEventId = lifecycleEventId;

export const noticeId = (random: RandomBytes): string => `ntc_${base32(random(15))}`;

export const tokenId = (random: RandomBytes): string => `tok_${base32(random(10))}`;

/**
 * A signing secret as text (`docs/contract/webhooks.md#secret`): 43 characters, whose
 * UTF-8 bytes are the HMAC key.
 */
export const signingSecret = (random: RandomBytes): string => base64url(random(32));

export const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 section 6 in lower case, for lengths that need no padding (multiples of 5). */
function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32.charAt((held >> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  return text;
}
