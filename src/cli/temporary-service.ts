/**
 * Starts a complete service on free ports of loopback, with a temporary data folder that is removed
 * when it stops. The demo, the benchmark and the tests run against it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { readConfig } from '../config.ts';
import { loggableError } from '../errors.ts';
import type { CellSources } from '../launch/cell-build.ts';
import type { Limits } from '../limits.ts';
import { type Service, startService } from '../service.ts';

export interface TemporaryOptions {
  /** More flags, as for `npm start`. */
  readonly flags?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** Lowest level that is logged to standard error; default `warn`. */
  readonly logLevel?: string;
  /** Receives the log lines in settings of standard error. */
  readonly logTo?: { write(line: string): void };
  /** The program of the cells, built in advance: saves time when many services are started. */
  readonly cellSources?: CellSources;
}

export interface TemporaryService {
  readonly service: Service;
  /** Stops the service and removes its folder. */
  end(): Promise<void>;
}

export async function startTemporaryService(options: TemporaryOptions = {}): Promise<TemporaryService> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'annex-'));
  const settings = [
    '--data',
    dataFolder,
    '--control-port',
    '0',
    '--public-port',
    '0',
    '--public-host',
    '127.0.0.1',
  ];
  const config = readConfig([...settings, ...(options.flags ?? [])], {});
  const limits = { ...config.limits, ...options.limits };
  const log = pino(
    { name: 'annex', level: options.logLevel ?? 'warn', serializers: { err: loggableError } },
    options.logTo ?? pino.destination(2),
  );
  const removeFolder = () => rm(dataFolder, { recursive: true, force: true });
  try {
    const service = await startService({ ...config, limits }, log, {
      ...(options.cellSources && { built: options.cellSources }),
    });
    return { service, end: () => service.stop().finally(removeFolder) };
  } catch (cause) {
    await removeFolder();
    throw cause;
  }
}
