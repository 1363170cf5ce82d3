/**
 * Finds the file of an uploaded package that an import names, by `exports`, `imports`, `browser`
 * and the main fields of `package.json`.
 *
 * Follows PACKAGE_EXPORTS_RESOLVE of the Node.js documentation ("Resolution Algorithm
 * Specification"): subpaths, conditions in the author's order, patterns by longest prefix, null to
 * forbid. Looks only at the parsed JSON and returns paths relative to the package; the caller
 * checks that they exist.
 */

/**
 * Conditions that apply in an isolate, besides `import` or `require`. An isolate has no DOM and no
 * Node.
 */
const CONDITIONS = ['worker', 'browser', 'production', 'module', 'default'];
/** Members that name the entry of a package without `exports`, the first one that is text. */
const MAIN_FIELDS = ['worker', 'browser', 'module', 'jsnext', 'jsnext:main', 'main'];
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
    const path =
      exportsTarget(exported, subpath, new Set([...CONDITIONS, kind])) ??
      // A package for bundlers often names its files for `import` only.
      exportsTarget(exported, subpath, new Set([...CONDITIONS, 'import']));
    return path === undefined ? undefined : { path, exact: true };
  }
  if (subpath !== '.') return { path: subpath, exact: false };
  for (const field of MAIN_FIELDS) {
    const main = own(record, field);
    if (typeof main === 'string' && main !== '') return { path: main, exact: false };
  }
  return { path: './index', exact: false };
}

/**
 * Finds what a package's own name `#…` stands for, in `imports`.
 *
 * @returns a path that begins with `./`, or the specifier of a package; undefined where it stands
 * for nothing
 */
export function packageImport(
  manifest: unknown,
  name: string,
  kind: 'import' | 'require',
): string | undefined {
  const imports = isRecord(manifest) ? own(manifest, 'imports') : undefined;
  if (!isRecord(imports)) return undefined;
  const conditions = new Set([...CONDITIONS, kind]);
  return namedTarget(imports, name, { conditions, allowsPackages: true });
}

/**
 * What the `browser` map of a package replaces a file or an import by: another specifier, or false
 * for an empty module. Undefined where the map does not name it.
 *
 * @param name the specifier of a package, or a path that begins with `./`
 */
export function browserReplacement(manifest: unknown, name: string): string | false | undefined {
  const map = isRecord(manifest) ? own(manifest, 'browser') : undefined;
  if (!isRecord(map)) return undefined;
  const bare = name.replace(/^\.\//, '');
  const spellings = name.startsWith('./') ? [name, bare] : [name];
  for (const spelling of spellings.flatMap((path) => [path, `${path}.js`, `${path}/index.js`])) {
    const found = own(map, spelling);
    if (found === false || typeof found === 'string') return found;
  }
  return undefined;
}

/** How the value of a member is read. */
interface TargetRules {
  readonly conditions: ReadonlySet<string>;
  /** Whether a target may be the specifier of another package. */
  readonly allowsPackages: boolean;
}

function exportsTarget(
  exported: unknown,
  subpath: string,
  conditions: ReadonlySet<string>,
): string | undefined {
  const rules = { conditions, allowsPackages: false };
  const subpaths = isRecord(exported) && Object.keys(exported).some((key) => key.startsWith('.'));
  if (!subpaths) return subpath === '.' ? target(exported, undefined, rules, 0) : undefined;
  return namedTarget(exported, subpath, rules);
}

/** The target of a name: by the name itself, else by the pattern with the longest prefix. */
function namedTarget(members: Record<string, unknown>, name: string, rules: TargetRules): string | undefined {
  const direct = own(members, name);
  if (direct !== undefined && !name.includes('*')) return target(direct, undefined, rules, 0);
  const best = Object.keys(members)
    .filter((key) => matchPattern(key, name) !== undefined)
    .sort((a, b) => b.indexOf('*') - a.indexOf('*') || b.length - a.length)[0];
  if (best === undefined) return undefined;
  return target(members[best], matchPattern(best, name), rules, 0);
}

/** The text that `*` in the pattern matches in a subpath; undefined where they do not match. */
export function matchPattern(pattern: string, subpath: string): string | undefined {
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
  rules: TargetRules,
  depth: number,
): string | undefined {
  if (typeof value === 'string') {
    if (!value.startsWith('./') && !rules.allowsPackages) return undefined;
    return star === undefined ? value : value.replaceAll('*', () => star);
  }
  if (depth >= DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    for (const option of value) {
      const found = target(option, star, rules, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  for (const [condition, option] of Object.entries(value)) {
    if (!rules.conditions.has(condition)) continue;
    // null forbids the subpath: later conditions are not tried.
    if (option === null) return undefined;
    const found = target(option, star, rules, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own members only, never those of `Object.prototype`. */
const own = (record: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined;
