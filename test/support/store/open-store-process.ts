/**
 * Process entry: opens the store in the folder of its argument and prints the error, to be run as a
 * user without rights.
 */
import { openStore } from '../../../src/host/store/store.ts';
import { storeOptions } from './temporary-store.ts';

try {
  await (await openStore(storeOptions(process.argv[2] ?? ''))).close();
  process.stdout.write('opened');
} catch (cause) {
  process.stdout.write(cause instanceof Error ? cause.message : String(cause));
}
