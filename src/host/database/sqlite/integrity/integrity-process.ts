/**
 * Process entry: runs the integrity check apart from the service. The check of a large table is one
 * call that cannot be interrupted, so the service kills the process instead. Its arguments are the
 * database file and the table to start after.
 */
import { type CheckedTable, quickCheck } from './quick-check.ts';

const [, , file = '', after = ''] = process.argv;
// Without the service, nothing can receive the result.
process.once('disconnect', () => process.exit(1));

for (const checked of quickCheck(file, after))
  await new Promise<void>((resolve) => process.send?.(checked satisfies CheckedTable, () => resolve()));
process.disconnect?.();
