/**
 * What the ciphers use of `@noble/ciphers`. Its tables take milliseconds and a megabyte: the file
 * is evaluated at the first cipher, by a `require` (`crypto-lazy.ts`).
 */
export { Poly1305 } from '@noble/ciphers/_poly1305.js';
export { GHASH } from '@noble/ciphers/_polyval.js';
export { aeskw, aeskwp, unsafe } from '@noble/ciphers/aes.js';
export { chacha20 } from '@noble/ciphers/chacha.js';
