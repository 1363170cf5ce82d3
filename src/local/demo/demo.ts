/** `annex demo`: a tour of Annex on a service that lives only as long as the command. */
import { join } from 'node:path';
import Type from 'typebox';
import { type Command, defineCommand } from '../../cli/command.ts';
import { EXIT } from '../../cli/terminal/failure.ts';
import type { Service } from '../../host/service.ts';
import { PROGRAM } from '../../own-files.ts';
import { DemoReceiver, FIXTURES, Tour } from './tour.ts';
import { Transcript } from './transcript.ts';

export const demo: Command = defineCommand({
  name: 'demo',
  summary: 'see a tour of Annex, then try it out',
  description: [
    'Starts a service on free ports with a temporary data folder. Publishes six integrations, installs and calls them, posts an event and receives the signed webhook for it, which is retried. Then it keeps serving until Ctrl-C, and removes everything.',
    'It needs no token and no folder of yours, and changes nothing of another service. With --verbose it shows each request with its answer.',
  ],
  options: {
    once: { help: 'stop after the tour' },
    verbose: { help: 'show each request with its answer' },
  },
  examples: [
    { line: 'annex demo', does: 'see the tour, and keep the service for further requests' },
    { line: 'annex demo --once --verbose', does: 'see every request of the tour, and stop' },
  ],
  exits: { 1: 'a step of the tour failed, or the service could not be started' },
  json: Type.Object({
    ok: Type.Boolean({ description: 'Whether every step succeeded.' }),
    failed: Type.Array(Type.String(), { description: 'What was expected and did not happen.' }),
  }),
  stream: true,
  async run({ output, signal, clientOf }, { once, verbose }) {
    // Loaded here: the other commands do without a service of their own.
    const { startTemporaryService } = await import('../temporary-service.ts');
    const print = (text: string) => {
      if (!output.isJson) output.line(text);
    };
    const transcript = new Transcript(print, verbose);
    const receiver = new DemoReceiver();
    await receiver.start();
    const stopped = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => stopped.resolve(undefined), { once: true });
    if (signal.aborted) stopped.resolve(undefined);
    try {
      // The receiver is on loopback and has no TLS; by default, webhooks are not posted to either.
      const flags = ['--webhook-http', 'allow', '--egress-allow', receiver.address];
      // Warnings and errors only: the transcript is the output.
      const { service, end } = await startTemporaryService({ flags });
      try {
        const adminToken = service.firstAdminToken ?? '';
        const tour = new Tour({ controlUrl: service.controlUrl, adminToken, receiver, transcript });
        transcript.tell(`A service with a temporary folder: ${service.controlUrl}\n`);
        const touring = tour.run();
        // After a signal the service stops, so the requests of the tour fail.
        touring.catch(() => undefined);
        await Promise.race([touring, stopped.promise]);
        if (signal.aborted) return;
        const failed = transcript.surprises;
        const ok = failed.length === 0;
        await output.item({ ok, failed }, () => {
          if (ok) return output.line('\nEvery step succeeded.');
          output.line(`\n${failed.length} steps failed:`);
          for (const sentence of failed) output.line(`  ${sentence}`);
        });
        if (!once) {
          const annex = clientOf(service.controlUrl, adminToken, 'the demo');
          const { url } = await annex.consoleLinks.create();
          print(nextSteps(service, adminToken, tour));
          print(
            `\nSee it all in the console, signed in once within ten minutes:\n${service.controlUrl}${url}`,
          );
        }
        if (!once) await stopped.promise;
        return ok ? EXIT.ok : EXIT.failed;
      } finally {
        await end();
      }
    } finally {
      receiver.stop();
    }
  },
});

/** The commands to try next, ready to paste. */
function nextSteps(
  { controlUrl, publicUrl }: Service,
  adminToken: string,
  { platformToken, endpoints }: Tour,
): string {
  return `
Annex keeps serving; Ctrl-C ends it. Open ${endpoints['hello']}/any/path in a browser.

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
