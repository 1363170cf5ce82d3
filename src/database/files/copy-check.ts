/**
 * A process that checks a backup whole, indexes against tables included: a backup that is not sound is found now, and not when it is
 * needed. Its argument is the file; its one message is the list of what is wrong.
 */
import { DatabaseSync } from 'node:sqlite';

/** What of a failed check is told. */
const PROBLEMS_MAX = 5;

process.send?.(problemsOf(process.argv[2] ?? ''), () => process.disconnect?.());

function problemsOf(file: string): string[] {
  const database = new DatabaseSync(file);
  try {
    const rows = database.prepare(`pragma integrity_check(${PROBLEMS_MAX})`).all();
    const problems = rows.map((row) => String(row.integrity_check)).filter((line) => line !== 'ok');
    const isLoose = database.prepare('pragma foreign_key_check').get() !== undefined;
    return isLoose ? [...problems, 'a row refers to one that is not there'] : problems;
  } catch (cause) {
    return [cause instanceof Error ? cause.message : String(cause)];
  } finally {
    database.close();
  }
}
