/**
 * A server of pages for frames, on an origin of its own: each page has a field, reports the keys
 * that arrive in it, and may attack the page around it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Path → script of an attack. `steal()` gives the field of the frame the focus. */
const ATTACKS: Readonly<Record<string, string>> = {
  honest: '',
  'every-5-ms': 'setInterval(steal, 5);',
  'at-load': 'steal();',
  'when-it-loses-it': "addEventListener('blur', () => setInterval(steal, 5));",
  'when-asked': "addEventListener('message', () => steal());",
  'by-a-frame-in-it':
    "document.body.append(Object.assign(document.createElement('iframe'), { src: 'every-5-ms' }));",
  'draws-again':
    "setInterval(() => parent.postMessage({ version: 1, action: { action: 'again' } }, '*'), 100);",
  flood:
    "setInterval(() => { for (let n = 0; n < 100; n += 1) parent.postMessage({ version: 1 }, '*'); }, 1);",
  'one-large-message':
    "parent.postMessage({ version: 1, action: { action: 'a', more: 'x'.repeat(5e6) } }, '*');",
  'large-values': "parent.postMessage(Array.from({ length: 1e5 }, () => ({})), '*');",
};

const pageOf = (
  attack: string,
  script: string,
): string => `<!doctype html><html lang="en"><title>Frame</title>
<input aria-label="In the frame"> <button>Press</button>
<script>
  const field = document.querySelector('input');
  // Without it, the browser takes a field for focused that has lost the focus of the window.
  const steal = () => { field.blur(); window.focus(); field.focus(); };
  addEventListener('keydown', ({ key }) => void fetch('key?${attack}', { method: 'POST', body: key }), true);
  ${script}
</script></html>`;

export class FrameServer {
  /** Keys that arrived in frames. */
  readonly keys: { readonly attack: string; readonly key: string }[] = [];
  /** Pages that were loaded. */
  loads = 0;
  readonly #server = createServer(async (request, response) => {
    const [path = '', attack = ''] = (request.url ?? '').slice(1).split('?');
    const script = ATTACKS[path];
    if (request.method === 'POST') this.keys.push({ attack, key: await text(request) });
    else if (script !== undefined) this.loads += 1;
    response.setHeader('access-control-allow-origin', '*');
    if (script === undefined) response.writeHead(204).end();
    else response.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(path, script));
  });

  static async start(): Promise<FrameServer> {
    const frames = new FrameServer();
    await new Promise<void>((resolve) => frames.#server.listen(0, '127.0.0.1', resolve));
    return frames;
  }

  /** What was typed into the pages with this attack. */
  typed(attack: string): string {
    return this.keys.flatMap((typed) => (typed.attack === attack ? [typed.key] : [])).join('');
  }

  frame(attack: string): object {
    const { port } = this.#server.address() as AddressInfo;
    return { type: 'webframe', source: { url: `http://127.0.0.1:${port}/${attack}` }, aspectRatio: 8 };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
