/**
 * The curves of Weierstrass, by the names of OpenSSL, evaluated at the first key of them
 * (`crypto-lazy.ts`).
 */
import { p256, p384, p521 } from '@noble/curves/nist.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';

export const NIST = { prime256v1: p256, secp256k1, secp384r1: p384, secp521r1: p521 };
