/**
 * Loads isolated-vm into the cell from one named file.
 *
 * The cell may read its own script and this addon alone, so the package's JavaScript, which
 * searches folders for the right build, cannot run here: the host has found the file and passes its
 * path.
 */
import type ivm from 'isolated-vm';

export type Engine = typeof ivm;

/**
 * @throws where the addon does not fit this Node, or Node was started with its start-up snapshot.
 */
export function loadEngine(addonPath: string): Engine {
  const module: { exports: { ivm?: Engine } } = { exports: {} };
  process.dlopen(module, addonPath);
  const engine = module.exports.ivm;
  if (engine === undefined) throw new Error('The isolated-vm addon exports no engine.');
  return engine;
}
