/**
 * Errors of Web Crypto on their way into an isolate: a name out of a fixed list and a sentence of
 * Annex. Texts of Node and OpenSSL (paths, function names, library codes) stay in the cell.
 */

const MESSAGES: Readonly<Record<string, string>> = {
  DataError: 'The data does not fit the format or the algorithm',
  InvalidAccessError: 'The key does not allow this operation',
  NotSupportedError: 'The algorithm, or this use of it, is not supported',
  OperationError: 'The operation failed',
  SyntaxError: 'A required parameter is missing or out of range, or the key usages do not fit the algorithm',
  TypeError: 'A parameter has the wrong type',
};

/** An error for the isolate, by the name of its DOMException or `TypeError`. */
export class CryptoError extends Error {
  constructor(name: keyof typeof MESSAGES & string, message?: string) {
    super(message ?? MESSAGES[name]);
    this.name = name;
  }
}

/** The error for the isolate, of anything thrown. */
export function toCryptoError(thrown: unknown): CryptoError {
  if (thrown instanceof CryptoError) return thrown;
  const name = thrown instanceof Error ? thrown.name : '';
  return new CryptoError(Object.hasOwn(MESSAGES, name) ? name : 'OperationError');
}
