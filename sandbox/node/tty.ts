/**
 * `node:tty`: an isolate has no terminal.
 */

export const isatty = (): boolean => false;
export class ReadStream {}
export class WriteStream {}
export default { isatty, ReadStream, WriteStream };
