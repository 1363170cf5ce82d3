/**
 * Finds the file of an uploaded package that an import names, by `exports`, `module` and `main` of
 * `package.json`.
 *
 * Follows PACKAGE_EXPORTS_RESOLVE of the Node.js documentation ("Resolution Algorithm
 * Specification"): subpaths, conditions in the author's order, patterns by longest prefix, null to
 * forbid. Not supported: `imports` (`#name`) and the `browser` map. Looks only at the parsed JSON
 * and returns paths relative to the package; the caller checks that they exist.
 */

/**
 * Conditions that apply in an isolate, besides `import` or `require`. An isolate has no DOM and no
 * Node.
 */
const CONDITIONS = ['worker', 'browser', 'module', 'default'];
/**
 * Most levels of nested conditions and arrays. Attack: a `package.json` of 10,000 nested objects.
 */
const DEPTH_MAX = 16;

/**
 * Finds the entry of a package.
 *
 * @param manifest the parsed `package.json`; hostile, so its shape is not trusted.
 * @param subpath `.` for the package itself, else `./…`.
 * @returns a path relative to the package's folder (to be tried with extensions where `exact` is
 * false), or undefined
 *   where the package does not export the subpath.
 */
export function packageEntry(
  manifest: unknown,
  subpath: string,
  kind: 'import' | 'require',
): { path: string; exact: boolean } | undefined {
  const record = isRecord(manifest) ? manifest : {};
  const exported = own(record, 'exports');
  if (exported !== undefined && exported !== null) {
    const path = exportsTarget(exported, subpath, new Set([...CONDITIONS, kind]));
    return path === undefined ? undefined : { path, exact: true };
  }
  if (subpath !== '.') return { path: subpath, exact: false };
  for (const field of ['module', 'main']) {
    const main = own(record, field);
    if (typeof main === 'string' && main !== '') return { path: main, exact: false };
  }
  return { path: './index', exact: false };
}

function exportsTarget(
  exported: unknown,
  subpath: string,
  conditions: ReadonlySet<string>,
): string | undefined {
  const subpaths = isRecord(exported) && Object.keys(exported).some((key) => key.startsWith('.'));
  if (!subpaths) return subpath === '.' ? target(exported, undefined, conditions, 0) : undefined;
  const direct = own(exported, subpath);
  if (direct !== undefined && !subpath.includes('*')) return target(direct, undefined, conditions, 0);
  const best = Object.keys(exported)
    .filter((key) => matchPattern(key, subpath) !== undefined)
    .sort((a, b) => b.indexOf('*') - a.indexOf('*') || b.length - a.length)[0];
  if (best === undefined) return undefined;
  return target(exported[best], matchPattern(best, subpath), conditions, 0);
}

/** The text that `*` in the pattern matches in a subpath; undefined where they do not match. */
function matchPattern(pattern: string, subpath: string): string | undefined {
  const star = pattern.indexOf('*');
  if (star < 0 || pattern.indexOf('*', star + 1) >= 0) return undefined;
  const [prefix, suffix] = [pattern.slice(0, star), pattern.slice(star + 1)];
  if (!subpath.startsWith(prefix) || !subpath.endsWith(suffix) || subpath.length < pattern.length) {
    return undefined;
  }
  return subpath.slice(prefix.length, subpath.length - suffix.length);
}

function target(
  value: unknown,
  star: string | undefined,
  conditions: ReadonlySet<string>,
  depth: number,
): string | undefined {
  if (typeof value === 'string') {
    if (!value.startsWith('./')) return undefined;
    return star === undefined ? value : value.replaceAll('*', () => star);
  }
  if (depth >= DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    for (const option of value) {
      const found = target(option, star, conditions, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  for (const [condition, option] of Object.entries(value)) {
    if (!conditions.has(condition)) continue;
    // null forbids the subpath: later conditions are not tried.
    if (option === null) return undefined;
    const found = target(option, star, conditions, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own members only, never those of `Object.prototype`. */
const own = (record: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined;
