import { checkSignature, createIntegration, recentIds } from '@annex/sdk';

/** Maximum age of a signature: a recorded request can be replayed for this long. */
const TOLERANCE_SECONDS = 300;

/** Events of the last minutes, in the memory of this isolate: most duplicates stop here. */
const recent = recentIds();

export default createIntegration({
  async fetch(request, { environment }) {
    if (request.method !== 'POST') return new Response('Method not allowed', { status: 405 });
    const secret = environment.installation?.configuration['webhook_secret'];
    // A 5xx is retried, so an event that arrives just before the setting is not lost.
    if (typeof secret !== 'string' || secret === '')
      return new Response('No secret is set yet', { status: 503 });

    // The raw bytes: JSON that was parsed and written again has another signature.
    const body = await request.arrayBuffer();
    const signature = request.headers.get('x-platform-signature');
    const checked = await checkSignature(signature, body, secret, { toleranceSeconds: TOLERANCE_SECONDS });
    if (!checked.valid) {
      console.warn(`refused: the signature is ${checked.reason}`);
      return new Response('Invalid signature', { status: 401 });
    }

    const event = readEvent(body);
    if (event === undefined) return new Response('Not an event', { status: 400 });
    if (recent.add(event.eventId)) console.log(`received ${event.type} ${event.eventId}`);
    // Work that takes longer than the answer belongs in `context.waitUntil(…)`.
    return Response.json({ received: true });
  },
});

function readEvent(body: ArrayBuffer): { eventId: string; type: string } | undefined {
  try {
    const { eventId, type } = JSON.parse(new TextDecoder().decode(body));
    return typeof eventId === 'string' && typeof type === 'string' ? { eventId, type } : undefined;
  } catch {
    return undefined;
  }
}
