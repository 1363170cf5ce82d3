/**
 * Libraries below `node:crypto` that take milliseconds to evaluate: esbuild puts them into the
 * bundle as functions that have not run. Only the types of these files are imported elsewhere.
 */
declare const require: (path: string) => unknown;

export const ciphers = (): typeof import('./crypto-noble-ciphers.ts') =>
  require('./crypto-noble-ciphers.ts') as typeof import('./crypto-noble-ciphers.ts');

export const edwards = (): typeof import('./crypto-noble-edwards.ts')['EDWARDS'] =>
  (require('./crypto-noble-edwards.ts') as typeof import('./crypto-noble-edwards.ts')).EDWARDS;

export const nist = (): typeof import('./crypto-noble-nist.ts')['NIST'] =>
  (require('./crypto-noble-nist.ts') as typeof import('./crypto-noble-nist.ts')).NIST;
