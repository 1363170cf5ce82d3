/**
 * A service to try things on: free ports on loopback and a data folder that goes away with it. What the demo shows, the
 * benchmark measures and the tests hold to their promises is this, the real thing in a place of its own.
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
  /** Least level that is logged, to standard error; `warn` unless told. */
  readonly logLevel?: string;
  /** Where it is logged instead. */
  readonly logTo?: { write(line: string): void };
  /** What cells run, built before: for whoever starts many services. */
  readonly cellSources?: CellSources;
}

export interface TemporaryService {
  readonly service: Service;
  /** Stops the service and removes its folder. */
  end(): Promise<void>;
}

export async function startTemporaryService(options: TemporaryOptions = {}): Promise<TemporaryService> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'annex-'));
  const place = [
    '--data',
    dataFolder,
    '--control-port',
    '0',
    '--public-port',
    '0',
    '--public-host',
    '127.0.0.1',
  ];
  const config = readConfig([...place, ...(options.flags ?? [])], {});
  const limits = { ...config.limits, ...options.limits };
  const log = pino(
    { name: 'annex', level: options.logLevel ?? 'warn', serializers: { err: loggableError } },
    options.logTo ?? pino.destination(2),
  );
  const removeFolder = () => rm(dataFolder, { recursive: true, force: true });
  try {
    const service = await startService({ ...config, limits }, log, options.cellSources);
    return { service, end: () => service.stop().finally(removeFolder) };
  } catch (cause) {
    await removeFolder();
    throw cause;
  }
}
