/**
 * Starts a complete service on free ports of loopback, with a temporary data folder that is removed
 * when it stops. The demo, the benchmark and the tests run against it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loggableError } from '../errors.ts';
import { type Config, readConfig } from '../host/config.ts';
import type { InspectionSettings } from '../host/inspector/inspection-settings.ts';
import { type Service, type StartOptions, startService } from '../host/service.ts';
import type { Processes } from '../host/service-processes.ts';
import type { Limits } from '../limits.ts';

export interface TemporaryOptions {
  /** More flags, as for `npm start`. */
  readonly flags?: readonly string[];
  /** Environment variables, as for `npm start`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Partial<Limits>;
  /** Lets debuggers into the isolates. */
  readonly inspect?: InspectionSettings;
  /** Lowest level that is logged to standard error; default `warn`. */
  readonly logLevel?: string;
  /** Receives the log lines in settings of standard error. */
  readonly logTo?: { write(line: string): void };
  /**
   * Gives what cells and bundlers start from, prepared in advance for these settings: saves time
   * when many services are started. The service does not remove it.
   */
  readonly prepare?: (config: Config) => Promise<Processes>;
  /** Whether an author is at work, so that the process of the first upload starts at once. */
  readonly expectsUploads?: boolean;
  /** What a test kit has in place of the time and of the network. */
  readonly standIns?: Pick<StartOptions, 'time' | 'connect'>;
}

export interface TemporaryService {
  readonly service: Service;
  /** Its limits: the defaults, with those of the options. */
  readonly limits: Limits;
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
  const read = readConfig([...settings, ...(options.flags ?? [])], options.env ?? {});
  const config = { ...read, limits: { ...read.limits, ...options.limits } };
  const log = pino(
    { name: 'annex', level: options.logLevel ?? 'warn', serializers: { err: loggableError } },
    options.logTo ?? pino.destination(2),
  );
  const removeFolder = () => rm(dataFolder, { recursive: true, force: true });
  try {
    const prepared = await options.prepare?.(config);
    const { inspect, expectsUploads = false } = options;
    const service = await startService(config, log, {
      ...options.standIns,
      expectsUploads,
      ...(prepared && { prepared }),
      ...(inspect && { inspect }),
    });
    return { service, limits: config.limits, end: () => service.stop().finally(removeFolder) };
  } catch (cause) {
    await removeFolder();
    throw cause;
  }
}
