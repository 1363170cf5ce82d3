/**
 * `npm run demo`: a service of its own on free ports and a temporary folder, a tour of what it does, and then an open
 * door to play with. With `--once` it ends after the tour: 0 where everything was as expected, 1 where not.
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
  // On loopback and without TLS, which webhooks are not posted to unless the operator says so.
  const flags = ['--webhook-http', 'allow', '--egress-allow', `127.0.0.1:${receiver.port}`];
  // Warnings and errors only: the transcript is the output.
  const { service, end: stop } = await startTemporaryService({ flags });
  const end = async (code: number) => {
    receiver.stop();
    await stop();
    process.exit(code);
  };
  const adminToken = service.firstAdminToken ?? '';
  let ending = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      ending = true;
      void end(0);
    });
  }
  const toured = await tour({ controlUrl: service.controlUrl, adminToken, receiver, print }).catch(
    (cause: unknown) => {
      // The tour's requests fail when somebody ends the service under it.
      if (!ending) throw cause;
      return undefined;
    },
  );
  if (toured === undefined) return undefined;
  if (toured.surprises.length > 0) {
    print(`\n${toured.surprises.length} steps were not as expected:`);
    for (const surprise of toured.surprises) print(`  ${surprise}`);
  } else {
    print('\nEverything was as expected.');
  }
  if (once) return end(toured.surprises.length > 0 ? 1 : 0);
  print(goOn(service, adminToken, toured));
  return undefined;
}

/** What to try next, ready to paste. */
function goOn(
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
