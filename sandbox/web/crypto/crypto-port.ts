/**
 * The way of Web Crypto to the cell, which does the work. In a file of its own, because it is handed in before any tenant
 * code runs and everything that uses it is evaluated later.
 */

/** Told once, unless the call ends before: the answer as JSON text, and its bytes one piece after the other. */
export type JobDone = (answer: string, bytes: ArrayBuffer | undefined) => void;

/**
 * Takes a job: its request as JSON text, and its bytes one piece after the other. A callback and no promise: key material
 * is in the answer, and a promise that settles with it could be met by a replaced `then`.
 *
 * @returns false where the running call has asked for too much already
 */
export type CryptoPort = (request: string, bytes: ArrayBuffer, done: JobDone) => boolean;

let port: CryptoPort | undefined;

/** Hands in the port. */
export function setCryptoPort(given: CryptoPort): void {
  port = given;
}

/** Asks the cell; false as above, and where there is no cell. */
export const askCell: CryptoPort = (request, bytes, done) => port?.(request, bytes, done) ?? false;
