/** What the npm package needs of the sources: it has their folders, but no TypeScript. */
import { expect, test } from 'vitest';
import { imports, read, sources } from '../../support/repository/sources.ts';

/** Builds the texts that the package carries, in a clone alone. */
const ONLY_IN_A_CLONE = ['src/host/launch/cell-sources.ts'];

test('no module starts a program by the name of its TypeScript: own-files.ts knows the name', () => {
  const named = sources.filter((path) => /new URL\([^)]*\.ts['"`], import\.meta\.url/.test(read(path)));
  expect(named).toEqual(ONLY_IN_A_CLONE);
});

test('no module but version.ts reads the version: package.json is elsewhere in the package', () => {
  const reading = sources.filter((path) => /readFileSync\(new URL\([^)]*package\.json/.test(read(path)));
  expect(reading).toEqual([]);
});

test('the image of the container has every file that the code imports', () => {
  const [, last = ''] = read('Dockerfile').split(/^FROM (?!.* AS )/m);
  const copied = [...last.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  const sent = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
  const isIn = (paths: readonly string[], path: string) =>
    paths.some((one) => path === one || path.startsWith(`${one}/`));
  const needed = sources.flatMap((path) => imports(path).map((target) => target.path));
  const absent = needed.filter((path) => !isIn(copied, path) || !isIn(sent, path));
  expect(new Set(absent)).toEqual(new Set());
});
