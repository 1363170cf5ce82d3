/**
 * Names of Node.js that the bundler gives to code which uses them without an import. A bundle has
 * only those that its code uses.
 */
export { Buffer } from './buffer.ts';
export { process } from './process.ts';
export { clearImmediate, setImmediate } from './timers.ts';
