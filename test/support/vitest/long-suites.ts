/**
 * The suites of `npm run test:long`: those that kill processes and wait for them to return, attack
 * a service for minutes, or drive another program such as a browser. `npm test` has all others, and
 * each promise that does not need one of these.
 */
export const LONG_SUITES: readonly string[] = [
  'test/slow/**/*.test.ts',
  ...['confinement', 'fuzz', 'hostile'].map((folder) => `test/security/${folder}/**/*.test.ts`),
  ...['compatibility', 'deployment', 'libraries', 'renderer'].map(
    (folder) => `test/service/${folder}/**/*.test.ts`,
  ),
  'test/service/cli/dev-page-*.test.ts',
  'test/service/cli/shell-completions.test.ts',
  'test/service/endpoints/shared-origin.test.ts',
  'test/service/repository/example-receivers.test.ts',
  'test/service/repository/readme.test.ts',
];
