/** Checks of the service that commands talk to: profile, connection, version, token, health. */
import { AnnexError } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../../cli/context.ts';
import type { Connection } from '../../cli/profile/connection.ts';
import type { Failure } from '../../cli/terminal/failure.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

interface Health {
  readonly status: string;
  readonly cells?: { readonly count: number };
}

export interface ServiceFindings {
  readonly findings: readonly Finding[];
  /** Whether a service answers. */
  readonly isServing: boolean;
}

export async function checkService(context: CommandContext): Promise<ServiceFindings> {
  let connection: Connection;
  try {
    connection = await context.connection();
  } catch (cause) {
    return { findings: [ofFailure('profile', context.explain(cause))], isServing: false };
  }
  const { url, urlFrom } = connection;
  const profile = ok('profile', `${url}, from ${urlFrom}`);
  const health = await checkHealth(context, connection);
  if (health.state === 'failed') return { findings: [profile, health], isServing: false };
  const findings = [
    profile,
    health,
    checkVersion(context, connection.url),
    await checkToken(context, connection),
  ];
  return { findings, isServing: true };
}

async function checkHealth(context: CommandContext, { url, token, tokenFrom }: Connection): Promise<Finding> {
  try {
    const client = context.clientOf(url, token, tokenFrom ?? 'nowhere');
    const health = await client.request<Health>('GET', '/healthz', {
      options: { signal: context.signal, retries: 0 },
    });
    if (health?.cells === undefined)
      return failed(
        'service',
        `${url} is not Annex`,
        'Name the control listener of a service: annex login <url>.',
      );
    if (health.status === 'ok') return ok('service', `answers, with ${health.cells.count} cells`);
    return warning(
      'service',
      `is ${health.status}`,
      'Its log says why; docs/operating/troubleshooting.md says what to do.',
    );
  } catch (cause) {
    // Of a damaged database it says so with 503.
    if (cause instanceof AnnexError && cause.status === 503)
      return warning(
        'service',
        'answers 503',
        'Its log says why; docs/operating/troubleshooting.md says what to do.',
      );
    return ofFailure('service', context.explain(cause));
  }
}

function checkVersion({ versions }: CommandContext, url: string): Finding {
  const [own, its] = versions();
  if (its === undefined)
    return warning('versions', `${own} here; the service tells none`, 'Update the service.');
  if (own === its) return ok('versions', `${own} on both sides`);
  return warning(
    'versions',
    `${own} here, ${its} in the service`,
    `Use its version: npm install ${url}/v1/packages/annex-${its}.tgz`,
  );
}

async function checkToken(context: CommandContext, { url, token, tokenFrom }: Connection): Promise<Finding> {
  if (token === undefined) return failed('token', `there is none for ${url}`, `Log in: annex login ${url}`);
  try {
    await context
      .clientOf(url, token, tokenFrom ?? 'nowhere')
      .tokens.introspect({ token: 'none' }, { signal: context.signal });
  } catch (cause) {
    // The answer to a good token of an organization.
    if (!(cause instanceof AnnexError && cause.code === 'TOKEN_FORBIDDEN'))
      return ofFailure('token', context.explain(cause));
  }
  return ok('token', `accepted, from ${tokenFrom}`);
}

const ofFailure = (check: string, { message, details }: Failure): Finding =>
  failed(check, message.replace(/\.$/, ''), details.hint ?? 'Its log may say more.');
