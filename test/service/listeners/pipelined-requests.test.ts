/**
 * Pipelined requests: a few are answered in order, and a connection with too many is closed.
 */
import { describe, expect, test } from 'vitest';
import { REQUESTS_PER_TURN } from '../../../src/host/http/listener.ts';
import { dial, exchange, statuses } from '../../support/http/raw-http.ts';
import { startTestService } from '../../support/service.ts';

const requests = (times: number, path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(times);

describe('requests in one segment', () => {
  test('are answered in order, up to the bound of one turn', async () => {
    const service = await startTestService();
    const { endpoint } = await service.deploy(
      'echo',
      'export default { async fetch() { return new Response("here"); } };',
    );
    const { pathname } = new URL(endpoint);
    const last = `GET ${pathname} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
    const text = await exchange(endpoint, requests(REQUESTS_PER_TURN - 1, pathname) + last);
    expect(statuses(text)).toEqual(Array(REQUESTS_PER_TURN).fill(200));
  });

  test.each(['public', 'control'] as const)(
    'end their connection to the %s listener where there are more',
    async (listener) => {
      const { service } = await startTestService();
      const url = listener === 'public' ? service.publicUrl : service.controlUrl;
      const { socket, closed } = await dial(url);
      socket.write(requests(4_000, '/nowhere'));
      expect(statuses(await closed).length).toBeLessThanOrEqual(REQUESTS_PER_TURN);
      expect(
        statuses(
          await exchange(url, 'GET /nowhere HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
        ),
      ).toEqual([404]);
    },
  );
});
