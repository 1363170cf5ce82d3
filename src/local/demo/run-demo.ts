/**
 * `annex demo`: starts a service on free ports with a temporary folder, runs the tour, and keeps
 * serving for further requests until Ctrl-C.
 */
import { join } from 'node:path';
import { PROGRAM } from '../../own-files.ts';
import type { Service } from '../../service.ts';
import { startTemporaryService } from '../temporary-service.ts';
import { FIXTURES, type TourEnd, tour } from './demo-tour.ts';
import { DemoReceiver } from './demo-webhooks.ts';

export interface DemoParts {
  /** Ends the service, also during the tour. */
  readonly signal: AbortSignal;
  /** Receives the transcript, and what to try next. */
  print(text: string): void;
  /** Called after the tour, with its unexpected results. */
  toured(surprises: readonly string[]): Promise<void>;
  /** Whether to stop after the tour. */
  readonly once: boolean;
}

/** @returns when the service has stopped */
export async function runDemo({ signal, print, toured, once }: DemoParts): Promise<void> {
  const receiver = await DemoReceiver.start();
  try {
    // The receiver is on loopback and has no TLS; by default, webhooks are not posted to either.
    const flags = ['--webhook-http', 'allow', '--egress-allow', `127.0.0.1:${receiver.port}`];
    // Warnings and errors only: the transcript is the output.
    const { service, end } = await startTemporaryService({ flags });
    const stopped = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => stopped.resolve(undefined), { once: true });
    if (signal.aborted) stopped.resolve(undefined);
    try {
      const adminToken = service.firstAdminToken ?? '';
      const touring = tour({ controlUrl: service.controlUrl, adminToken, receiver, print });
      const result = await Promise.race([touring, stopped.promise]);
      // After a signal the service stops, so the requests of the tour fail.
      if (result === undefined) return void touring.catch(() => undefined);
      await toured(result.surprises);
      if (once) return;
      print(nextSteps(service, adminToken, result));
      await stopped.promise;
    } finally {
      await end();
    }
  } finally {
    receiver.stop();
  }
}

/** The commands to try next, ready to paste. */
function nextSteps(
  { controlUrl, publicUrl }: Service,
  adminToken: string,
  { platformToken, endpoints }: TourEnd,
): string {
  return `
Annex keeps serving; Ctrl-C ends it.

  control  ${controlUrl}   (API, /healthz, /metrics, /v1/openapi.json)
  public   ${publicUrl}   (endpoints of installations)

export ANNEX_URL=${controlUrl}
export ANNEX_TOKEN=${adminToken}
export PLATFORM=${platformToken}

annex() { node ${PROGRAM} "$@"; }
annex integrations list
annex call hello /any/path
annex logs hello
annex publish ${join(FIXTURES, 'hello')}
curl ${endpoints['hello']}/any/path
curl -X POST ${endpoints['confirmation']}/
curl -H "Authorization: Bearer $PLATFORM" ${endpoints['counter']}/v1 \\
  -F 'event={"eventId":"1","type":"ui_render","componentId":"counter","props":{}}' -F 'environment={}'
curl -H "Authorization: Bearer $ANNEX_TOKEN" ${controlUrl}/v1/integrations/hello/versions`;
}
