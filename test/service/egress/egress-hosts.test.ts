/** The `egress` list of a manifest: its syntax, and that fetches reach no other hosts. */
import { describe, expect, test } from 'vitest';
import { EGRESS_HOSTS_MAX, EgressHosts, egressHostFault } from '../../../src/model/manifest/egress-hosts.ts';
import { parseManifest } from '../../../src/model/manifest/manifest.ts';
import { failure, newEgress, outbound, serve } from '../../support/http/egress.ts';
import { startTestService } from '../../support/service.ts';
import { manifestYaml, parsed } from '../../support/store/temporary-store.ts';

const REFUSED = 'The address may not be reached from here.';

describe('the list of a manifest', () => {
  test('is kept as written; a missing list differs from an empty one', () => {
    const egress = ['api.example.com', '*.example.org:8443'];
    expect(
      parsed(manifestYaml({}, `egress: [api.example.com, "*.example.org:8443"]`)).manifest.egress,
    ).toEqual(egress);
    expect(parsed(manifestYaml({}, 'egress: []')).manifest.egress).toEqual([]);
    expect(parsed(manifestYaml()).manifest.egress).toBeUndefined();
  });

  test('has every problem reported with line and column', () => {
    const result = parseManifest(
      manifestYaml(
        {},
        'egress:\n  - api.example.com\n  - https://api.example.com/v1\n  - 10.0.0.0/8\n  - 7\n  - "*"\n',
      ),
    );
    const problems = result.ok
      ? []
      : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
    expect(problems).toEqual([
      '9:5 "egress[1]" must be a host without scheme and path, and no range of addresses, not "https://api.example.com/v1".',
      '10:5 "egress[2]" must be a host without scheme and path, and no range of addresses, not "10.0.0.0/8".',
      '11:5 "egress[3]" must be text, not a number.',
      expect.stringMatching(/^12:5 "egress\[4\]" must be a host such as/),
    ]);
  });

  test(`has ${EGRESS_HOSTS_MAX} hosts, and not one more`, () => {
    const hosts = (count: number) =>
      `egress: [${Array.from({ length: count }, (_, at) => `h${at}.example`).join(', ')}]`;
    expect(parseManifest(manifestYaml({}, hosts(EGRESS_HOSTS_MAX))).ok).toBe(true);
    expect(parseManifest(manifestYaml({}, hosts(EGRESS_HOSTS_MAX + 1))).ok).toBe(false);
  });

  test.each([
    'api.example.com',
    'API.Example.com',
    'localhost',
    '*.example.com',
    'bücher.example',
    'a_b.example:443',
    '1.2.3.4',
    '1.2.3.4:8080',
    '[2606:4700::1]:443',
  ])('may have %s', (entry) => {
    expect(egressHostFault(entry)).toBeUndefined();
  });

  test.each([
    '',
    '*',
    '*.',
    '*.com',
    '*.1.2.3.4',
    'a.*.example',
    '**.example.com',
    'example.com:',
    'example.com:0',
    'example.com:65536',
    'example.com:http',
    'user@example.com',
    'example.com/path',
    'example.com?x',
    'example.com#x',
    '1.2.3.0/24',
    'exa mple.com',
    'http://example.com',
    '%31.example',
    '[::1',
    '2606:4700::1',
    'a'.repeat(300),
  ])('may not have %j', (entry) => {
    expect(egressHostFault(entry)).toMatch(/^must be a host/);
    expect(new EgressHosts([entry]).covers({ host: entry, port: 443 })).toBe(false);
  });
});

describe('a list covers', () => {
  const covers = (entries: string[], host: string, port = 443) =>
    new EgressHosts(entries).covers({ host, port });

  test('a host, at any port or at one, with and without a final dot', () => {
    expect(covers(['api.example.com'], 'api.example.com', 8080)).toBe(true);
    expect(covers(['API.example.com'], 'api.example.com.')).toBe(true);
    expect(covers(['api.example.com:443'], 'api.example.com', 443)).toBe(true);
    expect(covers(['api.example.com:443'], 'api.example.com', 80)).toBe(false);
    expect(covers(['bücher.example'], 'xn--bcher-kva.example')).toBe(true);
    expect(covers(['0x7f.1'], '127.0.0.1')).toBe(true);
  });

  test('the names below a host, neither the host itself nor a name with the same ending', () => {
    expect(covers(['*.example.com'], 'a.example.com')).toBe(true);
    expect(covers(['*.example.com'], 'a.b.example.com')).toBe(true);
    expect(covers(['*.example.com'], 'example.com')).toBe(false);
    expect(covers(['*.example.com'], 'evilexample.com')).toBe(false);
    expect(covers(['*.example.com'], 'example.com.evil.com')).toBe(false);
    expect(covers(['api.example.com'], 'x.api.example.com')).toBe(false);
  });

  test('nothing, if it is empty', () => {
    expect(covers([], 'api.example.com')).toBe(false);
  });
});

describe('a fetch', () => {
  const hosts = new EgressHosts(['api.example', 'inside.example', '127.0.0.1']);
  const send = (egress: ReturnType<typeof newEgress>, url: string) =>
    egress.fetch(outbound(url, { hosts }), new AbortController().signal);

  test('to a host that is not listed is refused before its name is looked up', async () => {
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return ['127.0.0.1'];
    };
    const error = await failure(send(newEgress({ lookup }), 'http://other.example/'));
    expect([error.message, error.result, asked]).toEqual([REFUSED, 'refused', 0]);
    expect(error.detail).toBe(
      'other.example:80 was refused: the "egress" list of the manifest does not have it.',
    );
  });

  test('is checked again at every redirect', async () => {
    let reached = 0;
    const other = await serve((_request, response) => {
      reached += 1;
      response.end();
    });
    const location = other.replace('127.0.0.1', 'other.example');
    const base = await serve((_request, response) => response.writeHead(302, { location }).end());
    expect((await failure(send(newEgress(), base))).detail).toMatch(/does not have it/);
    expect(reached).toBe(0);
    const listed = await serve((_request, response) =>
      response.writeHead(302, { location: other.replace('127.0.0.1', 'inside.example') }).end(),
    );
    expect((await send(newEgress(), listed)).status).toBe(200);
  });

  test('reaches nothing that the operator refuses, whatever the list has', async () => {
    const url = 'http://inside.example/';
    const lookup = async () => ['10.0.0.1'];
    expect((await failure(send(newEgress({ allow: '', lookup }), url))).detail).toMatch(/not public/);
    expect((await failure(send(newEgress({ deny: 'inside.example' }), url))).detail).toMatch(
      /operator's list/,
    );
    expect((await failure(send(newEgress({ allow: '' }), 'http://127.0.0.1/'))).detail).toMatch(/not public/);
  });

  test('of an integration without a list reaches nothing if the operator requires one, with the reason in the log', async () => {
    const base = await serve((_request, response) => response.end());
    const egress = newEgress({ hostsRequired: true });
    const error = await failure(egress.fetch(outbound(base), new AbortController().signal));
    expect(error.message).toBe(REFUSED);
    expect(error.detail).toMatch(/the manifest has no "egress" list, which this service requires/);
    expect((await send(egress, base)).status).toBe(200);
  });
});

describe('a service', () => {
  const FETCHER = `export default { async fetch(envelope) {
    const { request } = JSON.parse((await envelope.formData()).get('event'));
    try { return new Response(String((await fetch(new URL(request.url).searchParams.get('to'))).status)); }
    catch (error) { return new Response(error.name); }
  } };`;

  test('enforces the list of the active version, and shows it', async () => {
    const base = await serve((_request, response) => response.end());
    const service = await startTestService({ flags: ['--egress-allow', '127.0.0.1'] });
    const publish = (manifest: string) => service.publish('listed', { 'index.js': FETCHER }, manifest);
    await publish(`egress: ["127.0.0.1"]\n`);
    const installed = await service.install('listed');
    const ask = async (to: string) =>
      (await fetch(`${installed.endpoint}/?${new URLSearchParams({ to })}`)).text();
    expect(await ask(base)).toBe('200');
    expect(await ask(base.replace('127.0.0.1', 'localhost'))).toBe('TypeError');
    expect((await service.log(installed)).map(({ text }) => text).join()).toMatch(
      /localhost:\d+ was refused: the "egress" list/,
    );
    expect((await service.api('GET', '/v1/integrations/listed')).body).toMatchObject({
      egress: ['127.0.0.1'],
    });
    // The service itself, which is reached in process.
    expect(await ask(`${installed.endpoint}/?to=x`)).toBe('200');
    await publish('egress: []\n');
    expect(await ask(base)).toBe('TypeError');
    await publish('');
    expect(await ask(base)).toBe('200');
    expect((await service.api('GET', '/v1/integrations/listed')).body).not.toHaveProperty('egress');
  });

  test('that requires a list refuses a publish without one, with the reason', async () => {
    const service = await startTestService({ flags: ['--egress-manifest', 'required'] });
    const without = await service.tryPublish('hello', { 'index.js': FETCHER });
    expect(without.status).toBe(422);
    expect(JSON.stringify(without.body)).toMatch(/\\"egress\\" is required by the operator of this service/);
    expect((await service.tryPublish('hello', { 'index.js': FETCHER }, 'egress: []\n')).status).toBe(201);
  });
});
