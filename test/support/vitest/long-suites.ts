/**
 * The suites of `npm run test:long`: those that kill processes and wait for them to return, attack
 * a service for minutes, or drive other programs and browsers. `npm test` has all others.
 */
export const LONG_SUITES: readonly string[] = [
  'test/slow/**/*.test.ts',
  ...['confinement', 'fuzz', 'hostile'].map((folder) => `test/security/${folder}/**/*.test.ts`),
  ...['compatibility', 'deployment', 'libraries', 'renderer'].map(
    (folder) => `test/service/${folder}/**/*.test.ts`,
  ),
  'test/service/cli/dev-page-browser.test.ts',
  'test/service/cli/dev-page-gallery.test.ts',
  'test/service/cli/shell-completions.test.ts',
  'test/service/console/console-author.test.ts',
  'test/service/console/console-page.test.ts',
  'test/service/portal/portal-page.test.ts',
  'test/service/repository/example-receivers.test.ts',
  'test/service/repository/readme.test.ts',
];

/**
 * Long suites that run before the others, alone: two nodes, a database and their load share the
 * cores, and the verdict is that the sound node refuses nothing.
 */
export const LONG_ALONE: readonly string[] = ['test/slow/nodes-cut-off.test.ts'];
