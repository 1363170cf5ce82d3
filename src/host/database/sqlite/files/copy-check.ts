/**
 * Process entry: checks a backup completely, indexes against tables included, so that a damaged
 * backup is found when it is made. Its argument is the file; its one message is the list of
 * problems.
 */
import { DatabaseSync } from 'node:sqlite';

/** Problems reported at most. */
const PROBLEMS_MAX = 5;

process.send?.(problemsOf(process.argv[2] ?? ''), () => process.disconnect?.());

function problemsOf(file: string): string[] {
  const database = new DatabaseSync(file);
  try {
    const rows = database.prepare(`pragma integrity_check(${PROBLEMS_MAX})`).all();
    const problems = rows.map((row) => String(row.integrity_check)).filter((line) => line !== 'ok');
    const hasBrokenKey = database.prepare('pragma foreign_key_check').get() !== undefined;
    return hasBrokenKey ? [...problems, 'a row refers to one that is not there'] : problems;
  } catch (cause) {
    return [cause instanceof Error ? cause.message : String(cause)];
  } finally {
    database.close();
  }
}
