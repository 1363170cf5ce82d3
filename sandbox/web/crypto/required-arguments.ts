/** Number of arguments that each operation of SubtleCrypto requires (Web IDL). */
export const REQUIRED_ARGUMENTS = {
  decrypt: 3,
  deriveBits: 2,
  deriveKey: 5,
  digest: 2,
  encrypt: 3,
  exportKey: 2,
  generateKey: 3,
  importKey: 5,
  sign: 3,
  unwrapKey: 7,
  verify: 4,
  wrapKey: 4,
} as const;
