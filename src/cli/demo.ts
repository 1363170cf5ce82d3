/**
 * `npm run demo`: starts a service on free ports with a temporary folder, runs the tour, and keeps
 * serving for further requests. With `--once` it exits after the tour: 0 if all results were as
 * expected, else 1.
 */
import type { Service } from '../service.ts';
import { type TourEnd, tour } from './demo-tour.ts';
import { DemoReceiver } from './demo-webhooks.ts';
import { startTemporaryService } from './temporary-service.ts';

const HELP = `usage: npm run demo [-- --once]

Starts Annex on free ports with a temporary data folder, publishes and installs the
fixtures, calls them, and keeps serving until Ctrl-C.

  --once   stop after the tour; exit 1 if anything was not as expected
`;

const EXIT_USAGE = 2;

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

async function demo(once: boolean): Promise<void> {
  const receiver = await DemoReceiver.start();
  // The receiver is on loopback and has no TLS; by default, webhooks are not posted to either.
  const flags = ['--webhook-http', 'allow', '--egress-allow', `127.0.0.1:${receiver.port}`];
  // Warnings and errors only: the transcript is the output.
  const { service, end: stop } = await startTemporaryService({ flags });
  const end = async (code: number) => {
    receiver.stop();
    await stop();
    process.exit(code);
  };
  const adminToken = service.firstAdminToken ?? '';
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      isStopping = true;
      void end(0);
    });
  }
  const result = await tour({ controlUrl: service.controlUrl, adminToken, receiver, print }).catch(
    (cause: unknown) => {
      // After a signal the service stops, so the requests of the tour fail.
      if (!isStopping) throw cause;
      return undefined;
    },
  );
  if (result === undefined) return undefined;
  if (result.surprises.length > 0) {
    print(`\n${result.surprises.length} steps failed:`);
    for (const surprise of result.surprises) print(`  ${surprise}`);
  } else {
    print('\nEvery step succeeded.');
  }
  if (once) return end(result.surprises.length > 0 ? 1 : 0);
  print(nextSteps(service, adminToken, result));
  return undefined;
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

export ADMIN=${adminToken}
export PLATFORM=${platformToken}

curl ${endpoints['hello']}/any/path
curl -X POST ${endpoints['confirmation']}/
curl -H "Authorization: Bearer $PLATFORM" ${endpoints['counter']}/v1 \\
  -F 'event={"eventId":"1","type":"ui_render","componentId":"counter","props":{}}' -F 'environment={}'
curl -H "Authorization: Bearer $ADMIN" ${controlUrl}/v1/integrations/hello/versions
tar -cz -C fixtures/hello . | curl -H "Authorization: Bearer $ADMIN" -F archive=@- ${controlUrl}/v1/integrations
curl -H "Authorization: Bearer $ADMIN" ${controlUrl}/v1/integrations`;
}

const flags = process.argv.slice(2);
const unknown = flags.filter((flag) => !['--once', '--help', '-h'].includes(flag));
if (unknown.length > 0) {
  process.stderr.write(`${unknown.join(' ')} is not known here.\n\n${HELP}`);
  process.exit(EXIT_USAGE);
}
if (flags.includes('--help') || flags.includes('-h')) {
  process.stdout.write(HELP);
} else {
  await demo(flags.includes('--once'));
}
