/**
 * A process of its own for the integrity check: the check of a large table is one call that nothing can interrupt, so whoever
 * waits for it ends the process instead. Its arguments are the database file and the table to begin behind.
 */
import { type CheckedTable, quickCheck } from './quick-check.ts';

const [, , file = '', after = ''] = process.argv;
// Without the service, nothing is left to be told.
process.once('disconnect', () => process.exit(1));

for (const checked of quickCheck(file, after))
  await new Promise<void>((resolve) => process.send?.(checked satisfies CheckedTable, () => resolve()));
process.disconnect?.();
