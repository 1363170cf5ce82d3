/**
 * The port of Web Crypto to the cell, which does the work. In a file of its own, because it is set
 * before any tenant code runs, and all its users are evaluated later.
 */

/**
 * Receives the answer as JSON text, and its joined bytes. Called once, unless the call ends before.
 */
export type JobDone = (answer: string, bytes: ArrayBuffer | undefined) => void;

/**
 * Takes a job: its request as JSON text, and its joined bytes. Attack: a replaced `then` that
 * receives key material from a promise. The answer goes to a callback instead.
 *
 * @returns false if the running call has used up its emissions
 */
export type CryptoPort = (request: string, bytes: ArrayBuffer, done: JobDone) => boolean;

let port: CryptoPort | undefined;

/** Sets the port. */
export function setCryptoPort(given: CryptoPort): void {
  port = given;
}

/** Sends a job to the cell. @returns false as above, or if there is no port */
export const askCell: CryptoPort = (request, bytes, done) => port?.(request, bytes, done) ?? false;
