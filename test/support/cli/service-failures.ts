/** Failures that every command of the API has. */
import type { FailingRun } from './command-case.ts';

/** No service listens. */
export const noService = (words: readonly string[]): FailingRun => ({
  title: 'no service listens',
  run: (world) => ({ words, env: world.envOfNoService }),
  code: 1,
  says: /Nothing listens at http:\/\/127\.0\.0\.1:\d+\.\nIs the service running\? `annex serve` starts it\./,
});

/** The service does not know the token. */
export const unknownToken = (words: readonly string[]): FailingRun => ({
  title: 'an unknown token',
  run: (world) => ({ words, env: world.envOfStranger }),
  code: 1,
  says: /does not accept the token from ANNEX_TOKEN.*\nLog in with another token: annex login http/,
});

/** There is no token anywhere. */
export const noToken = (words: readonly string[]): FailingRun => ({
  title: 'no token',
  run: async (world) => ({ words, env: world.home, cwd: await world.folder() }),
  code: 1,
  says: /There is no token for http:\/\/127\.0\.0\.1:7700\.\nLog in \(annex login/,
});
