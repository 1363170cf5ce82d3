/**
 * Names of tenants are resolved by DNS servers, with a time-out per query; the operator's by the
 * system.
 */
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { addressesOf, dnsLookup, type Lookup, NO_ADDRESS } from '../../../src/host/egress/name-resolution.ts';
import { failure, newEgress, send } from '../../support/http/egress.ts';

const LIMIT = { name: 'fetchConnectMs', max: 100 } as const;

const A = 1;
const AAAA = 28;
const HEADER_BYTES = 12;
const ANSWER = [0xc0, HEADER_BYTES];
const NO_SUCH_NAME = 3;

/** A name server that answers with addresses, with "no such name", or not at all. */
async function nameServer(answer: (name: string, type: number) => number[][] | 'none' | 'silent') {
  const questions: string[] = [];
  const socket = createSocket('udp4', (query, { port, address }) => {
    const labels: string[] = [];
    let at = HEADER_BYTES;
    for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + size));
      at += 1 + size;
    }
    const type = query.readUInt16BE(at + 1);
    questions.push(`${labels.join('.')} ${type}`);
    const found = answer(labels.join('.'), type);
    if (found === 'silent') return;
    const records = found === 'none' ? [] : found;
    const question = query.subarray(HEADER_BYTES, at + 5);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt16BE(query.readUInt16BE(0), 0);
    header.writeUInt16BE(0x8180 | (found === 'none' ? NO_SUCH_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    const body = records.map((bytes) =>
      Buffer.from([...ANSWER, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]),
    );
    socket.send(Buffer.concat([header, question, ...body]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    socket.close();
  });
  const { port } = socket.address() as AddressInfo;
  const newResolver = () => {
    const resolver = new Resolver({ timeout: 200, tries: 1 });
    resolver.setServers([`127.0.0.1:${port}`]);
    return resolver;
  };
  return { newResolver, questions };
}

const V6 = [0x26, 0x06, ...Array(13).fill(0), 1];

describe('a name of a tenant', () => {
  test('is resolved by name servers, for both families', async () => {
    const { newResolver, questions } = await nameServer((_name, type) =>
      type === A
        ? [
            [1, 2, 3, 4],
            [5, 6, 7, 8],
          ]
        : [V6],
    );
    const lookup = dnsLookup(() => false, newResolver);
    expect(await lookup('api.example')).toEqual(['1.2.3.4', '5.6.7.8', '2606::1']);
    expect(questions.sort()).toEqual([`api.example ${A}`, `api.example ${AAAA}`]);
  });

  test('with addresses or answers of one family only has those', async () => {
    const none = await nameServer((_name, type) => (type === A ? [[1, 2, 3, 4]] : []));
    expect(await dnsLookup(() => false, none.newResolver)('api.example')).toEqual(['1.2.3.4']);
    const silent = await nameServer((_name, type) => (type === AAAA ? [V6] : 'silent'));
    expect(await dnsLookup(() => false, silent.newResolver)('api.example')).toEqual(['2606::1']);
  });

  test('that is unknown, or not answered, is an error', async () => {
    const outcomes: string[] = [];
    for (const outcome of ['none', 'silent'] as const) {
      const { newResolver } = await nameServer(() => outcome);
      const lookup = dnsLookup(() => false, newResolver);
      outcomes.push((await failure(send(newEgress({ lookup }), 'http://x.example/'))).message);
    }
    expect(outcomes).toEqual([NO_ADDRESS, 'The connection could not be made in time.']);
  });

  // Attack: a name server that answers with what no resolver can read, through one that passes it
  // on. The look-ups of all other tenants would fail with it, and their webhooks in the end.
  test('whose answer cannot be read fails alone', async () => {
    const { newResolver, questions } = await nameServer((name, type) => {
      if (type !== A) return [];
      // An address of one byte.
      return [name.startsWith('broken') ? [1] : [1, 2, 3, 4]];
    });
    const lookup = dnsLookup(() => false, newResolver);
    const broken = Array.from({ length: 50 }, (_, at) => failure(lookup(`broken${at}.example`)));
    const whole = Array.from({ length: 50 }, (_, at) => lookup(`whole${at}.example`));
    expect(new Set((await Promise.all(whole)).flat())).toEqual(new Set(['1.2.3.4']));
    expect((await Promise.all(broken)).map(({ message }) => message)).toContain(
      'queryA EBADRESP broken0.example',
    );
    expect(questions.filter((question) => question.startsWith('whole'))).toHaveLength(100);
  });

  test('that means this machine causes no query', async () => {
    const lookup: Lookup = () => Promise.reject(new Error('It was asked.'));
    for (const host of ['localhost', 'localhost.', 'a.localhost'])
      expect(await addressesOf(host, lookup, LIMIT)).toEqual(['127.0.0.1', '::1']);
    await expect(addressesOf('notlocalhost', lookup, LIMIT)).rejects.toThrow('It was asked.');
  });

  test('with a hundred addresses has eight tried', async () => {
    const lookup: Lookup = async () => Array.from({ length: 100 }, (_, at) => `1.1.1.${at}`);
    expect(await addressesOf('many.example', lookup, LIMIT)).toHaveLength(8);
  });
});

test('a name on the operator’s list is resolved by the system, without a name server', async () => {
  const { newResolver, questions } = await nameServer(() => [[9, 9, 9, 9]]);
  const lookup = dnsLookup((host) => host === 'localhost', newResolver);
  expect(await lookup('localhost')).toContain('127.0.0.1');
  expect(questions).toEqual([]);
  expect(await lookup('other.example')).toContain('9.9.9.9');
});
