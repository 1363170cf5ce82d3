/**
 * What `node:module` has in an isolate: the names of the modules, and `createRequire` for packages
 * that make a `require` where they are loaded. A bundle has all its modules, and no other is found.
 */
import builtinModules from 'node-tables/modules.json';
import { unavailable } from './errors.ts';

const names: ReadonlySet<string> = new Set(builtinModules);

/** Whether Node.js has a module; some only by a name that begins with `node:`. */
const isBuiltin = (name: string): boolean => names.has(name) || names.has(name.replace(/^node:/, ''));

/** A `require` that throws where it is called, by the name of what it was to find. */
function createRequire(): Function {
  const failing = (use: string) => (name: string) => {
    throw unavailable(`${use}(${JSON.stringify(name)}) of module.createRequire`);
  };
  const resolve = Object.assign(failing('require.resolve'), { paths: (): null => null });
  return Object.assign(failing('require'), { resolve, cache: {}, extensions: {}, main: undefined });
}

export const present = {
  _cache: {},
  _extensions: {},
  _pathCache: {},
  builtinModules,
  constants: {
    compileCacheStatus: { FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 },
  },
  createRequire,
  /** Those of Node.js tell of the machine. */
  globalPaths: [],
  isBuiltin,
};
