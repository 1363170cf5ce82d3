/**
 * Streams of tokens, as in answers of a chat: the pipelines of transforms in SDKs of language
 * models, from a stream of the integration or from server-sent events of an upstream, to a client
 * that reads each event as it is made.
 */
import type { Server } from 'node:http';
import type { EventSourceMessage } from 'eventsource-parser';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployWithLibrary, messagesOf, originOf, serve } from '../../support/library.ts';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.1/32'] });
});
afterAll(() => annex.stop());

describe('streams of tokens, as a chat answers', () => {
  let chat: Installed;
  let model: Server;
  /** Opens the gate of the running request. */
  let release: () => void;

  beforeAll(async () => {
    // A language model: two events at once, cut in the middle of a character, the last one when the
    // test says so.
    model = await serve(async (_request, response) => {
      const { promise: gate, resolve } = Promise.withResolvers<void>();
      release = resolve;
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      const event = (token: string) => `data: ${JSON.stringify({ delta: token })}\n\n`;
      const first = Buffer.from(`: hello\n\n${event('Gr')}${event('öße')}`);
      response.write(first.subarray(0, -8));
      response.write(first.subarray(-8));
      await gate;
      response.end(`${event(' 👋')}data: [DONE]\n\n`);
    });
    chat = await deployWithLibrary(
      annex,
      'chat-app',
      `export { EventSourceParserStream } from 'eventsource-parser/stream';`,
      `import { createIntegration } from '@annex/sdk';
       import { EventSourceParserStream } from './library.js';
       let open = () => {};
       const gate = () => new Promise((resolve) => { open = resolve; });
       const tokens = () => {
         const words = ['Hel', 'lo ', 'wörld', '!'];
         let held;
         return new ReadableStream({
           async pull(controller) {
             const word = words.shift();
             if (word === '!') await held;
             if (words.length === 3) held = gate();
             if (word === undefined) controller.close(); else controller.enqueue(word);
           },
         });
       };
       const upperCase = () => new TransformStream({ transform: (token, controller) => controller.enqueue(token.toUpperCase()) });
       const asEvents = () => {
         let id = 0;
         return new TransformStream({
           transform: (token, controller) => controller.enqueue('id: ' + ++id + '\\ndata: ' + JSON.stringify(token) + '\\n\\n'),
           flush: (controller) => controller.enqueue('data: [DONE]\\n\\n'),
         });
       };
       const eventStream = (body) => new Response(body.pipeThrough(asEvents()).pipeThrough(new TextEncoderStream()), { headers: { 'content-type': 'text/event-stream' } });
       const upstream = async (request) => {
         const response = await fetch(request.headers.get('x-model'), { method: 'POST', body: JSON.stringify({ stream: true }) });
         return response.body
           .pipeThrough(new TextDecoderStream())
           .pipeThrough(new EventSourceParserStream())
           .pipeThrough(new TransformStream({ transform({ data }, controller) { if (data === '[DONE]') controller.terminate(); else controller.enqueue(JSON.parse(data).delta); } }));
       };
       const routes = {
         open: () => { open(); return new Response('opened'); },
         own: () => eventStream(tokens().pipeThrough(upperCase())),
         relay: async (request) => eventStream(await upstream(request)),
         async both(request) {
           const [shown, kept] = (await upstream(request)).tee();
           const whole = Array.fromAsync(kept).then((all) => console.log('whole answer', all.join('')));
           return { response: eventStream(shown), whole };
         },
         async collected(request) { let all = ''; for await (const token of await upstream(request)) all += token; return Response.json({ all }); },
       };
       export default createIntegration({ async fetch(request, { waitUntil }) {
         const answer = await routes[new URL(request.url).pathname.split('/').at(-1)](request);
         if (answer instanceof Response) return answer;
         waitUntil(answer.whole);
         return answer.response;
       } });`,
    );
  });
  afterAll(() => model.close());

  const ask = (route: string) =>
    fetch(`${chat.endpoint}/${route}`, { headers: { 'x-model': originOf(model) } });
  const data = async (messages: AsyncGenerator<EventSourceMessage>): Promise<string> =>
    ((await messages.next()).value as EventSourceMessage).data;

  test('tokens of the integration leave one by one, the first before the last is made', async () => {
    const messages = messagesOf(await ask('own'));
    expect([await data(messages), await data(messages), await data(messages)]).toEqual([
      '"HEL"',
      '"LO "',
      '"WÖRLD"',
    ]);
    await (await ask('open')).text();
    expect([await data(messages), await data(messages)]).toEqual(['"!"', '[DONE]']);
    expect((await messages.next()).done).toBe(true);
  });

  test('events of an upstream are relayed as they arrive', async () => {
    const messages = messagesOf(await ask('relay'));
    expect([await data(messages), await data(messages)]).toEqual(['"Gr"', '"öße"']);
    release();
    expect([await data(messages), await data(messages)]).toEqual(['" 👋"', '[DONE]']);
    expect((await messages.next()).done).toBe(true);
  });

  test('an answer is shown to the client and kept for the log at once', async () => {
    const messages = messagesOf(await ask('both'));
    expect(await data(messages)).toBe('"Gr"');
    release();
    const rest = await Array.fromAsync(messages, (message) => message.data);
    expect(rest).toEqual(['"öße"', '" 👋"', '[DONE]']);
    await expect
      .poll(async () => (await annex.log(chat)).map(({ text }) => text))
      .toContain('whole answer Größe 👋');
  });

  test('a client that disconnects closes the connection to the upstream', async () => {
    const gone = Promise.withResolvers<void>();
    model.once('request', (_request, response) => response.once('close', () => gone.resolve()));
    const leaving = new AbortController();
    const response = await fetch(`${chat.endpoint}/relay`, {
      headers: { 'x-model': originOf(model) },
      signal: leaving.signal,
    });
    await messagesOf(response).next();
    leaving.abort();
    await gone.promise;
    release();
  });

  test('an upstream can be read to its end before the answer', async () => {
    model.once('request', () => release());
    expect(await (await ask('collected')).json()).toEqual({ all: 'Größe 👋' });
  });
});
