/** The memory budget of all uploads together, and the share of each publisher in it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { UploadBudget } from '../../../src/host/publish/upload-budget.ts';
import { TestService } from '../../support/service.ts';

describe('the budget of uploads', () => {
  const budget = () => new UploadBudget({ name: 'bufferedUploadBytes', max: 100 });

  test('bufferedUploadBytes: uploads up to the limit are held, and one byte more is refused', () => {
    const uploads = budget();
    const [one, other] = [uploads.open('acme'), uploads.open('acme')];
    one.take(49);
    other.take(1);
    expect(() => other.take(1)).toThrow('Too many uploads are being held');
    expect(uploads.heldBytes).toBe(50);
    one.giveBack();
    one.giveBack();
    other.take(49);
    expect(uploads.heldBytes).toBe(50);
  });

  test('a publisher holds no more than it leaves free, so that the next one finds as much', () => {
    const uploads = budget();
    for (const publisher of ['a', 'b', 'c', 'd']) {
      const share = uploads.open(publisher);
      let held = 0;
      try {
        for (;;) {
          share.take(1);
          held += 1;
        }
      } catch {
        // A publisher may hold half of the free budget, so each new one gets half of the rest.
        expect(held).toBe({ a: 50, b: 25, c: 12, d: 6 }[publisher]);
      }
    }
  });
});

describe('uploads that stop before their end', () => {
  const MIB = 1024 * 1024;
  let annex: TestService;
  let tokens: string[];
  beforeAll(async () => {
    annex = await TestService.start({ limits: { uploadBytes: MIB, bufferedUploadBytes: 4 * MIB } });
    tokens = await Promise.all(
      ['acme', 'other'].map(async (organization) => {
        const made = await annex.api('POST', '/v1/tokens', { json: { kind: 'organization', organization } });
        return (made.body as { token: string }).token;
      }),
    );
    return () => annex.stop();
  });

  /** Sends 900 KiB of an upload of 1 MiB, and keeps the connection open. */
  async function held(token: string): Promise<Socket> {
    const { hostname, port } = new URL(annex.service.controlUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const head = [
      'POST /v1/integrations HTTP/1.1',
      `host: ${hostname}:${port}`,
      `authorization: Bearer ${token}`,
      'content-type: multipart/form-data; boundary=b',
      `content-length: ${MIB}`,
    ];
    const part = '--b\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\n';
    socket.write(`${head.join('\r\n')}\r\n\r\n${part}`);
    socket.write(Buffer.alloc(900 * 1024, 97));
    return socket;
  }

  const publish = (token: string | undefined, organization: string) => {
    const form = new FormData();
    const lines = [`name: of-${organization}`, 'title: T', 'description: D', `organization: ${organization}`];
    form.append('manifest', [...lines, 'script: a.js', 'visibility: private', 'scopes: []'].join('\n'));
    form.append('files', new Blob(['export default { fetch: () => new Response() };']), 'a.js');
    form.append('files', new Blob(['x'.repeat(900 * 1024)]), 'large.txt');
    return annex.api('POST', '/v1/integrations', { ...(token && { token }), form });
  };

  test('take at most half of the budget; others publish meanwhile', async () => {
    const [acme = '', other = ''] = tokens;
    const uploads = await Promise.all([held(acme), held(acme), held(acme)]);
    // Which upload is refused depends on the order in which the host reads them.
    const [answer] = (await Promise.race(uploads.map((upload) => once(upload, 'data')))) as [Buffer];
    expect(answer.toString()).toMatch(
      /^HTTP\/1\.1 503 .*retry-after: \d+\r\n.*"PUBLISH_BUSY".*bufferedUploadBytes/is,
    );
    expect(await annex.metric('annex_limits_met_total{limit="bufferedUploadBytes"}')).toBe(1);
    expect(await publish(other, 'other')).toMatchObject({ status: 201 });
    for (const upload of uploads) upload.destroy();
    await expect.poll(async () => (await publish(acme, 'acme')).status).toBe(201);
  });
});
