/**
 * A real service with an integration that runs posted snippets, for tests of Web Crypto: the cell
 * does the work, and a bare isolate has no cell.
 */
import type { Limits } from '../../../src/limits.ts';
import { type Installed, TestService } from '../service.ts';

/**
 * Runs the posted body of an async function and answers its result; buffers become lists of
 * numbers.
 */
const EVALUATOR = `
  const AsyncFunction = (async () => {}).constructor;
  const { stringify } = JSON;
  const plain = (key, value) =>
    value instanceof ArrayBuffer ? [...new Uint8Array(value)] : ArrayBuffer.isView(value) ? [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)] : value;
  const ResponseIntrinsic = Response;
  export default { async fetch(request) {
    const form = await request.formData();
    const code = await form.get('fetch-body').text();
    let value;
    try { value = { value: await new AsyncFunction(code)() }; } catch (error) { value = { error: error.name + ': ' + error.message }; }
    return new ResponseIntrinsic(stringify(value, plain));
  } };`;

/** Helpers of snippets: hexadecimal in both directions, and the name of a promise's rejection. */
const TOOLS = `
  const { subtle } = crypto;
  const hex = (bytes) => new Uint8Array(bytes).toHex();
  const unhex = (text) => Uint8Array.fromHex(text);
  const text = (string) => new TextEncoder().encode(string);
  const nameOf = async (run) => { try { await run(); return 'none'; } catch (error) { return error.name; } };
`;

export class CryptoService {
  readonly service: TestService;
  readonly installed: Installed;

  private constructor(service: TestService, installed: Installed) {
    this.service = service;
    this.installed = installed;
  }

  static async start(limits: Partial<Limits> = {}): Promise<CryptoService> {
    const service = await TestService.start({ limits });
    await service.publish('evaluator', { 'index.js': EVALUATOR });
    return new CryptoService(service, await service.install('evaluator'));
  }

  /** Another isolate. */
  install(): Promise<Installed> {
    return this.service.install('evaluator');
  }

  /** Runs a snippet inside. @returns its result @throws its error, or that the call was ended */
  async run(body: string, where = this.installed): Promise<unknown> {
    const response = await this.post(body, where);
    const answer = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${answer}`);
    const { value, error } = JSON.parse(answer) as { value?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return value;
  }

  post(body: string, where = this.installed): Promise<Response> {
    return fetch(where.endpoint, { method: 'POST', body: `${TOOLS}${body}` });
  }

  stop(): Promise<void> {
    return this.service.stop();
  }
}
