/**
 * The curves of Edwards and Montgomery, evaluated at the first key of them (`crypto-lazy.ts`).
 */
import { ed448, x448 } from '@noble/curves/ed448.js';
import { ed25519, x25519 } from '@noble/curves/ed25519.js';

export const EDWARDS = { ed25519, ed448, x25519, x448 };
