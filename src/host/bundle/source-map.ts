/**
 * Rewrites positions of a bundled script in a text, such as a stack trace, to file and line of the
 * author's sources.
 *
 * Annex made the map when the version was published, but its row may have been damaged since: a map
 * that cannot be read rewrites nothing. The text is the tenant's and hostile: it is searched by a
 * pattern that cannot backtrack, and a fixed number of positions at most is looked up.
 */
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';

/**
 * Most positions rewritten in one text. Attack: a log full of fake positions, each of which costs a
 * search.
 */
const POSITIONS_MAX = 50;

/** Lines of a stack trace inside esbuild's lazy loading or the frame module. */
const SCAFFOLD_FRAME = /\n +at (?:async )?(?:__init \([^()\n]*\)|frame:[^\n]*)/g;
/** A frame in a module's top level: esbuild names that function after the file. */
const MODULE_FRAME = /(\n +at (?:async )?)upload:[^\n]*? \(/g;

/**
 * Makes the rewriter for one script.
 *
 * The map is parsed at the first text that names the script, so a version that never fails costs
 * nothing.
 *
 * @param mapJson the source map from `BundleResult`.
 * @param scriptUrl the script's name in stack traces, before `:line:column`.
 * @returns a function that replaces the first positions of the script in a text and changes nothing
 * else.
 */
export function createStackMapper(mapJson: string, scriptUrl: string): (text: string) => string {
  const position = new RegExp(`${RegExp.escape(scriptUrl)}:([1-9]\\d{0,8}):([1-9]\\d{0,8})(?!\\d)`, 'g');
  let trace: TraceMap | undefined;
  let isUnreadable = false;
  const rewrite = (text: string): string => {
    let lookups = 0;
    const mapped = text.replace(position, (found: string, line: string, column: string) => {
      if (lookups >= POSITIONS_MAX) return found;
      lookups += 1;
      trace ??= new TraceMap(mapJson);
      const origin = originalPositionFor(trace, { line: Number(line), column: Number(column) - 1 });
      return origin.source === null ? found : `${origin.source}:${origin.line}:${origin.column + 1}`;
    });
    return lookups === 0 ? text : mapped.replace(SCAFFOLD_FRAME, '').replace(MODULE_FRAME, '$1module code (');
  };
  return (text) => {
    if (isUnreadable) return text;
    try {
      return rewrite(text);
    } catch {
      // The parser and the look-up throw for a damaged map, each in its own way.
      isUnreadable = true;
      return text;
    }
  };
}
