/**
 * The limits that an isolate keeps for itself, as they are handed to its prelude together with the
 * script.
 */
import type { PreludeSettings } from '../../protocol/bridge.ts';
import type { IsolateLimits } from '../../protocol/wire.ts';

/** JSON text of `PreludeSettings`. */
export function preludeSettings({ isolateHeapMib: _, ...settings }: IsolateLimits): string {
  return JSON.stringify(settings satisfies PreludeSettings);
}
