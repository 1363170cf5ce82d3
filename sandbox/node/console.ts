/**
 * `node:console`: the console of the isolate, which writes to the log of the call.
 */

export const { debug, error, info, log, trace, warn } = console;
export default console;
