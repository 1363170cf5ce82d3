/**
 * The service that `annex dev` publishes to: one of its own in this process, with its data in the
 * folder of the integration, or a running one.
 *
 * Its own has production's checks and limits. It differs in what it may reach: webhooks go to
 * receivers without TLS, and to the hosts on this machine that the author allows.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import type { Annex } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../../cli/command.ts';
import { ADMIN_TOKEN_FILE } from '../../cli/profile/connection.ts';
import { readPrivate, writePrivate } from '../../cli/profile/profile-file.ts';
import { Failure } from '../../cli/terminal/failure.ts';
import { RequestWatch } from '../../host/http/public/request-watch.ts';
import type { DevTraffic } from './dev-traffic.ts';

export interface DevService {
  readonly annex: Annex;
  /** The API. */
  readonly url: string;
  /** Of a service of its own. */
  readonly traffic?: DevTraffic;
  /** Host and port for debuggers, where they are let in. */
  readonly inspector?: string | undefined;
  end(): Promise<void>;
}

export interface OwnServiceRequest {
  /** Folder of its data. */
  readonly data: string;
  /** Folder of the integration. */
  readonly folder: string;
  /** The owner of the integration, which may have every scope. */
  readonly organization: string | undefined;
  /** Port of endpoints. Where it is taken, another one is used. */
  readonly port: number;
  /** Hosts that are not public, and that the code may reach. */
  readonly egressAllow: string | undefined;
  /** File of the event types of the product. */
  readonly eventTypes: string | undefined;
  /** Port for debuggers; undefined lets none in. */
  readonly inspectPort: number | undefined;
  readonly traffic: DevTraffic;
}

/** The service of the profile, of the variables or of this folder, which must answer. */
export async function runningService(context: CommandContext): Promise<DevService> {
  const annex = await context.client();
  const { url } = await context.connection();
  await annex.integrations.list({ limit: 1 }, { signal: context.signal });
  return { annex, url, end: async () => undefined };
}

export async function ownService(context: CommandContext, request: OwnServiceRequest): Promise<DevService> {
  const { data, folder, organization, egressAllow, eventTypes, inspectPort, traffic } = request;
  // Loaded here: the other commands do without a service of their own.
  const [{ readConfig }, { startService }, { loggableError }, { default: pino }] = await Promise.all([
    import('../../host/config.ts'),
    import('../../host/service.ts'),
    import('../../errors.ts'),
    import('pino'),
  ]);
  const flags = [
    ...['--data', data, '--control-port', '0', '--public-host', '127.0.0.1'],
    ...['--public-port', String(await freePort(request.port))],
    ...['--built-ins', 'none', '--cells', '1', '--webhook-http', 'allow'],
    ...(egressAllow === undefined ? [] : ['--egress-allow', egressAllow]),
    ...(eventTypes === undefined ? [] : ['--event-types', resolve(context.cwd, eventTypes)]),
    ...(organization === undefined ? [] : ['--internal-organizations', organization]),
  ];
  const limits = Object.entries(context.env).filter(([name]) => name.startsWith('ANNEX_LIMIT_'));
  const log = pino(
    { name: 'annex', level: 'warn', serializers: { err: loggableError } },
    { write: (line) => sayLine(context, line) },
  );
  const tokenFile = join(data, ADMIN_TOKEN_FILE);
  const service = await startService(readConfig(flags, Object.fromEntries(limits)), log, {
    expectsUploads: true,
    watch: new RequestWatch(traffic),
    keepAdminToken: (token) => writePrivate(tokenFile, `${token}\n`),
    ...(inspectPort !== undefined && { inspect: { port: inspectPort, sourceFolder: () => folder } }),
  });
  try {
    const token = service.firstAdminToken ?? (await keptToken(data, tokenFile));
    const annex = context.clientOf(service.controlUrl, token, tokenFile);
    const { controlUrl: url, inspector } = service;
    return { annex, url, traffic, inspector, end: () => service.stop() };
  } catch (cause) {
    await service.stop();
    throw cause;
  }
}

/** The token that the first start has kept. */
async function keptToken(data: string, file: string): Promise<string> {
  const token = (await readPrivate(file))?.trim();
  if (token !== undefined) return token;
  throw new Failure(
    `${file}, which holds the admin token, is missing. The database keeps only a hash of the token.`,
    {
      code: 'TOKEN_MISSING',
      hint: `Remove ${data}: the next run starts with an empty service.`,
    },
  );
}

/** What the operator of the service should know, and here the author is the operator. */
function sayLine({ output }: CommandContext, line: string): void {
  const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  output.talk(`service: ${[msg, err?.message].filter(Boolean).join(': ')}`);
}

/** The wanted port of loopback, or 0 where it is taken. */
export async function freePort(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
    return wanted;
  } catch {
    return 0;
  } finally {
    server.close();
  }
}
