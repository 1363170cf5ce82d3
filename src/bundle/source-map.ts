/**
 * Rewrites the positions of a bundled script in a text, a stack trace above all, to the author's own file and line.
 *
 * The map is ours, made when the version was published. The text is the tenant's and may say anything: it is only
 * searched, by a pattern that cannot backtrack, and at most a fixed number of positions is looked up.
 */
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';

/** Positions rewritten in one text. Each costs a search; a log flood of fake positions must not cost more than that. */
const POSITIONS_MAX = 50;

/** Lines of a stack trace that lie in the bundler's own lazy loading. */
const SCAFFOLD_FRAME = /\n +at (?:async )?(?:__init \([^()\n]*\)|frame:[^\n]*)/g;
/** The function that the bundler makes of a module's top level is called after its file. */
const MODULE_FRAME = /(\n +at (?:async )?)upload:[^\n]*? \(/g;

/**
 * Makes the rewriter for one script.
 *
 * The map is parsed at the first text that names the script, so a version that never fails never pays for it.
 *
 * @param mapJson the source map that `bundle` returned.
 * @param scriptUrl the name under which the script runs: what stands before `:line:column` in its stack traces.
 * @returns a function of a text that replaces the first positions of the script in it and leaves all else as it is.
 */
export function createStackMapper(mapJson: string, scriptUrl: string): (text: string) => string {
  const position = new RegExp(`${RegExp.escape(scriptUrl)}:([1-9]\\d{0,8}):([1-9]\\d{0,8})(?!\\d)`, 'g');
  let trace: TraceMap | undefined;
  return (text) => {
    let looked = 0;
    const mapped = text.replace(position, (found: string, line: string, column: string) => {
      if (looked >= POSITIONS_MAX) return found;
      looked += 1;
      trace ??= new TraceMap(mapJson);
      const origin = originalPositionFor(trace, { line: Number(line), column: Number(column) - 1 });
      return origin.source === null ? found : `${origin.source}:${origin.line}:${origin.column + 1}`;
    });
    return looked === 0 ? text : mapped.replace(SCAFFOLD_FRAME, '').replace(MODULE_FRAME, '$1module code (');
  };
}
