/** A data folder on a disk that is full: what is refused, what is kept, and how it goes on. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HostProcess } from '../../support/host-process.ts';
import { SmallDisk } from '../../support/nodes/database-failures.ts';
import { needs } from '../../support/programs.ts';

const DISK_MIB = 12;
const BALLAST_BYTES = 6 * 1024 * 1024;

interface Refusal {
  readonly error: { readonly code: string };
}

test(
  'a full disk refuses events with 503, loses none that it took, and goes on by itself',
  needs('mount'),
  async ({ skip }) => {
    const disk = await SmallDisk.mount(DISK_MIB);
    if (disk === undefined) return skip('This process may not mount a small disk.');
    onTestFinished(() => disk.unmount());
    const data = join(disk.folder, 'data');
    const ballast = join(disk.folder, 'ballast');
    await mkdir(data);
    await writeFile(ballast, Buffer.alloc(BALLAST_BYTES));
    const lines: string[] = [];
    const host = await HostProcess.start({
      ...{ data, env: { TMPDIR: tmpdir(), ANNEX_BUILT_INS: 'none', ANNEX_CELLS: '1' } },
      onLine: (line) => lines.push(line),
    });
    onTestFinished(() => host.stop());
    const post = (eventId: string) =>
      fetch(`${host.control}/v1/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${host.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ eventId, type: 'space_content_updated', organization: 'acme' },
          ...{ spaceId: 'spc_1', revisionId: 'r'.repeat(60_000) },
        }),
      });
    const status = async (path: string) => (await fetch(`${host.control}${path}`)).status;
    const database = async () =>
      ((await (await fetch(`${host.control}/healthz`)).json()) as { readonly database: object }).database;
    const taken: string[] = [];
    let answer = await post('event-0');
    while (answer.status === 202) {
      taken.push(`event-${taken.length}`);
      answer = await post(`event-${taken.length}`);
    }
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(((await answer.json()) as Refusal).error.code).toBe('DATABASE_UNAVAILABLE');
    expect([await status('/readyz'), await status('/healthz')]).toEqual([503, 200]);
    expect(await database()).toMatchObject({ reachable: true, writable: false });
    // A change by people is refused in the same way, and what is only read is read.
    expect((await post('event-next')).status).toBe(503);
    expect((await host.api('GET', '/events?limit=1'))['items']).toHaveLength(1);
    await rm(ballast);
    await expect.poll(() => status('/readyz')).toBe(200);
    expect((await post('event-next')).status).toBe(202);
    for (const id of taken) expect((await host.api('GET', `/events/${id}`))['id']).toBe(id);
    expect(lines.filter((line) => line.includes('the database is not available'))).toEqual([
      expect.stringContaining('database or disk is full'),
    ]);
    expect((await readdir(data)).filter((name) => name.endsWith('-room'))).toEqual([]);
  },
);
