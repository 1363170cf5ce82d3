/**
 * Reads an envelope: `POST /v1`, `multipart/form-data` with `event`, `environment` and, if the
 * original request had a body, `fetch-body` (docs/contract/calls.md#envelope).
 */

/** The parts of an envelope. */
export interface Envelope {
  readonly event: object;
  readonly environment: object;
  /** The original request body, byte for byte. */
  readonly body: ArrayBuffer | undefined;
}

/** The request is not an envelope. The message states the reason and may be shown to the sender. */
export class EnvelopeError extends Error {}

/**
 * Reads the parts of an envelope.
 *
 * @throws EnvelopeError if the request is not one
 */
export async function readEnvelope(request: Request): Promise<Envelope> {
  const version = new URL(request.url).pathname.split('/').pop() ?? '';
  if (version !== 'v1') throw new EnvelopeError(`Unsupported version ${version}`);
  if (request.method !== 'POST') throw new EnvelopeError('The envelope must be sent with POST');
  let form: FormData;
  try {
    form = await request.formData();
  } catch {
    throw new EnvelopeError('The envelope must be multipart/form-data');
  }
  const body = form.get('fetch-body');
  return {
    event: await readJson(form, 'event'),
    environment: await readJson(form, 'environment'),
    body: body === null ? undefined : await new Response(body).arrayBuffer(),
  };
}

async function readJson(form: FormData, name: string): Promise<object> {
  const part = form.get(name);
  if (part === null) throw new EnvelopeError(`The envelope has no part "${name}"`);
  let value: unknown;
  try {
    value = JSON.parse(typeof part === 'string' ? part : await part.text());
  } catch {
    throw new EnvelopeError(`The part "${name}" of the envelope is not JSON`);
  }
  if (typeof value === 'object' && value !== null) return value;
  throw new EnvelopeError(`The part "${name}" of the envelope is not a JSON object`);
}
