/** `annex serve` and `annex demo`. */
import type { CommandCase } from '../command-case.ts';

const FREE = ['--control-port', '0', '--public-port', '0', '--public-host', '127.0.0.1'];

export const SERVE_CASES: readonly CommandCase[] = [
  {
    command: 'serve',
    // Variables of the command line as a client do not keep a service from starting.
    success: async (world) => ({
      words: ['serve', '--data', await world.folder(), '--cells', '1', '--built-ins', 'none', ...FREE],
      env: { ...world.env, ANNEX_PROFILE: 'staging' },
      stopWhen: /annex is ready/,
    }),
    shows: /"msg":"annex is ready".*"msg":"stopped"/s,
    failures: [
      {
        title: 'a setting that there is not',
        run: () => ({ words: ['serve', '--control-prot', '0'] }),
        code: 2,
        says: /Unknown option '--control-prot'\. Did you mean --control-port\?/,
      },
      {
        title: 'a value that is wrong, and a variable that is unknown',
        run: () => ({ words: ['serve', '--control-port', 'x'], env: { ANNEX_EGRES_DENY: 'x' } }),
        code: 2,
        says: /--control-port must be a whole number.*ANNEX_EGRES_DENY is not the name of a setting/s,
      },
      {
        title: 'a secret as an option, which is not quoted',
        run: () => ({ words: ['serve', '--database-url', 'postgres://annex:secret@db/annex'] }),
        code: 2,
        says: /^(?!.*:secret@).*set ANNEX_DATABASE_URL\./s,
      },
      {
        title: 'inspection, which is for `annex dev` alone',
        run: () => ({ words: ['serve', '--inspect'] }),
        code: 2,
        says: /--inspect is an option of `annex dev` alone: a debugger reads every secret/,
      },
      {
        title: 'a data folder that cannot be made',
        run: () => ({ words: ['serve', '--data', '/dev/null/data'] }),
        code: 1,
        says: /\/dev\/null/,
      },
      {
        title: 'a port on which another program listens',
        run: async (world) => {
          const { port } = new URL(world.service.service.controlUrl);
          const data = await world.folder();
          return { words: ['serve', '--data', data, '--cells', '1', ...FREE, '--control-port', port] };
        },
        code: 1,
        says: /--control-port: port \d+ is in use on 127\.0\.0\.1\. Use another port, or stop the process/,
      },
    ],
  },
  {
    command: 'demo',
    success: () => ({ words: ['demo', '--once'] }),
    shows: /published and installed.*\nEvery step succeeded\.\n$/s,
    failures: [
      {
        title: 'an option that there is not',
        run: () => ({ words: ['demo', '--onec'] }),
        code: 2,
        says: /Unknown option '--onec'\. Did you mean --once\?/,
      },
      {
        title: 'a word too many',
        run: () => ({ words: ['demo', 'hello'] }),
        code: 2,
        says: /Too many arguments/,
      },
      {
        title: 'a switch with a value',
        run: () => ({ words: ['demo', '--once=yes'] }),
        code: 2,
        says: /Unknown option '--once=yes'/,
      },
    ],
  },
];
