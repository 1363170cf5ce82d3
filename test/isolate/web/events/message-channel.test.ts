/**
 * MessageChannel, MessagePort and MessageEvent of a real cell: messages are tasks of the call that
 * posted them.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestService } from '../../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

let deployed = 0;
/** Deploys a worker: what stands before its handler, and the body of it. */
async function deploy(before: string, body: string): Promise<() => Promise<unknown>> {
  deployed += 1;
  const script = `${before}
    const TOOLS = {
      once: (port) => new Promise((resolve) => port.addEventListener('message', resolve, { once: true })),
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      attempt: (run) => { try { return run(); } catch (error) { return error.name; } },
    };
    export default { async fetch(request) {
      const { once, wait, attempt } = TOOLS;
      const value = await (async () => { ${body} })();
      return Response.json(value ?? null);
    } };`;
  const { endpoint } = await annex.deploy(`messages-${deployed}`, script);
  return async () => (await fetch(endpoint)).json();
}
const answer = async (body: string): Promise<unknown> => (await deploy('', body))();

test('messages arrive in order, each as a task of its own, as copies, with their transferred objects', async () => {
  expect(
    await answer(`
      const { port1, port2 } = new MessageChannel();
      const log = [];
      const sent = { nested: [1] };
      const buffer = new ArrayBuffer(4);
      port1.postMessage(sent);
      port1.postMessage('second', []);
      port1.postMessage(buffer, { transfer: [buffer] });
      sent.nested.push(2);
      queueMicrotask(() => log.push('microtask'));
      const over = new Promise((resolve) => {
        port2.onmessage = function (event) {
          const { data, origin, lastEventId, source, ports, isTrusted, type } = event;
          log.push([type, isTrusted, this === port2, event instanceof MessageEvent, origin, lastEventId, source, ports.length, Object.isFrozen(ports)]);
          log.push(data instanceof ArrayBuffer ? data.byteLength : data);
          Promise.resolve().then(() => log.push('its microtask'));
          if (data instanceof ArrayBuffer) setTimeout(resolve, 5);
        };
      });
      log.push('synchronous', buffer.byteLength);
      await over;
      return log;`),
  ).toEqual([
    'synchronous',
    0,
    'microtask',
    ...[{ nested: [1] }, 'second', 4].flatMap((data) => [
      ['message', true, true, true, '', '', null, 0, true],
      data,
      'its microtask',
    ]),
  ]);
});

test('a port that was not started keeps its messages; one that is transferred takes them along', async () => {
  expect(
    await answer(`
      const a = new MessageChannel();
      const b = new MessageChannel();
      const arrived = [];
      a.port2.addEventListener('message', () => arrived.push('before the start'));
      a.port1.postMessage('kept');
      await wait(5);
      const received = once(b.port2);
      b.port2.start();
      b.port1.postMessage({ port: a.port2 }, [a.port2]);
      const { data, ports } = await received;
      const first = once(ports[0]);
      ports[0].start();
      const kept = (await first).data;
      const back = once(a.port1);
      a.port1.start();
      ports[0].postMessage('back');
      a.port2.postMessage('into nothing');
      const cloned = structuredClone(b.port1, { transfer: [b.port1] });
      const last = once(b.port2);
      cloned.postMessage('by the copy');
      return [arrived, data.port === ports[0], ports[0] !== a.port2, ports[0] instanceof MessagePort, kept, (await back).data, (await last).data,
        [() => structuredClone(b.port2), () => a.port1.postMessage(1, [a.port1]), () => a.port1.postMessage(1, [a.port2]), () => a.port1.postMessage(1, [{}]),
         () => a.port1.postMessage(() => {}), () => a.port1.postMessage(), () => a.port1.postMessage(1, 5), () => new MessagePort()].map(attempt)];`),
  ).toEqual([
    [],
    true,
    true,
    true,
    'kept',
    'back',
    'by the copy',
    [
      'DataCloneError',
      'DataCloneError',
      'DataCloneError',
      'DataCloneError',
      'DataCloneError',
      'TypeError',
      'TypeError',
      'TypeError',
    ],
  ]);
});

test('closing ends both directions, and the other side gets an event', async () => {
  expect(
    await answer(`
      const { port1, port2 } = new MessageChannel();
      const arrived = [];
      port2.onmessage = ({ data }) => arrived.push(data);
      const closed = new Promise((resolve) => { port2.onclose = (event) => resolve([event.type, event instanceof MessageEvent]); });
      port1.postMessage('before');
      port1.close();
      port1.postMessage('after');
      port2.postMessage('after');
      const event = await closed;
      port1.close();
      return [arrived, event];`),
  ).toEqual([['before'], ['close', false]]);
});

test('both sides of the bounds: 1,000 messages wait in a port or in a call, one more is refused', async () => {
  expect(
    await answer(
      `
      const { port1, port2 } = new MessageChannel();
      for (let i = 0; i < 1_000; i++) port1.postMessage(i);
      const refused = attempt(() => port1.postMessage('too many'));
      const started = new MessageChannel();
      let arrived = 0;
      started.port2.onmessage = () => arrived++;
      for (let i = 0; i < 999; i++) started.port1.postMessage(i);
      setTimeout(() => {});
      const pending = attempt(() => started.port1.postMessage('too many'));
      while (arrived < 999) await wait(1).catch(() => {});
      return [refused, pending, arrived];`.replace(
        'wait(1)',
        'new Promise((resolve) => once(started.port2).then(resolve))',
      ),
    ),
  ).toEqual(['QuotaExceededError', 'RangeError', 999]);
});

test('a message ends with its call: a port that lives on receives only those of the next call', async () => {
  const call = await deploy(
    `const { port1, port2 } = new MessageChannel(); const arrived = []; port2.onmessage = ({ data }) => arrived.push(data); let calls = 0;`,
    `calls += 1;
     port1.postMessage('call ' + calls);
     if (calls === 1) return 'left at once';
     await wait(10);
     return arrived;`,
  );
  expect(await call()).toBe('left at once');
  const second = (await call()) as string[];
  expect(second.at(-1)).toBe('call 2');
  expect(second).not.toContain('call 3');
});

test('a MessageEvent can be made by a script, and made anew', async () => {
  expect(
    await answer(`
      const { port1, port2 } = new MessageChannel();
      const event = new MessageEvent('message', { data: 1, origin: 'o', lastEventId: 'i', source: port1, ports: [port1, port2] });
      const show = ({ type, data, origin, lastEventId, source, ports, isTrusted }) => [type, data, origin, lastEventId, source === port1, ports.length, isTrusted];
      const before = show(event);
      const same = event.ports === event.ports;
      event.initMessageEvent('other', false, false, 2);
      return [before, same, show(event), [{ ports: [1] }, { ports: 1 }, { source: {} }].map((init) => attempt(() => new MessageEvent('x', init))),
        MessageChannel.name, MessagePort.length, String(port1), Object.keys(MessagePort.prototype)];`),
  ).toEqual([
    ['message', 1, 'o', 'i', true, 2, false],
    true,
    ['other', 2, '', '', false, 0, false],
    ['TypeError', 'TypeError', 'TypeError'],
    'MessageChannel',
    0,
    '[object MessagePort]',
    ['postMessage', 'start', 'close', 'onmessage', 'onmessageerror', 'onclose'],
  ]);
});

test('attack: built-ins replaced first neither see a message nor change it', async () => {
  expect(
    await answer(`
      const { stringify } = JSON;
      let seen = '';
      const spy = () => { seen += new Error().stack; };
      const { port1, port2 } = new MessageChannel();
      const { includes, push, indexOf } = Array.prototype;
      Array.prototype.push = Array.prototype.includes = Array.prototype.indexOf = spy;
      Map.prototype.get = Map.prototype.set = spy;
      Object.prototype.transfer = undefined;
      Object.prototype.data = 'evil';
      Object.prototype.ports = [1];
      for (let i = 0; i < 4; i++) Object.defineProperty(Array.prototype, i, { set: spy, configurable: true });
      const received = new Promise((resolve) => { port2.onmessage = resolve; });
      port1.postMessage('text');
      const event = await received;
      delete Object.prototype.data; delete Object.prototype.ports;
      for (let i = 0; i < 4; i++) delete Array.prototype[i];
      Object.assign(Array.prototype, { includes, push, indexOf });
      return [event.data, event.ports.length, seen];`),
  ).toEqual(['text', 0, '']);
});
