/**
 * Integrations and their versions: retention, activation and deletion.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CellProcess } from '../../../src/host/cells/cell-process.ts';
import type { Tables } from '../../../src/host/database/tables.ts';
import { buildCell, type CellBuild } from '../../../src/host/launch/cell-build.ts';
import { CellLauncher } from '../../../src/host/launch/cell-launch.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { CallEnd } from '../../../src/protocol/wire.ts';
import { cellSources } from '../../support/built-once.ts';
import { startTestService } from '../../support/service.ts';
import { CONFIGURATIONS, publication } from '../../support/store/installed.ts';
import {
  CLOCK,
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

const HELLO = { name: 'hello', organization: 'acme' };

const numbers = async ({ registry }: Store): Promise<number[]> =>
  (await registry.versions({ integration: 'hello', limit: 100 })).items.map(({ number }) => number);

describe('versions', () => {
  test('are kept up to versionsPerIntegration, and the oldest goes with its images', async () => {
    const store = await temporaryStore({ versionsPerIntegration: 3 });
    const images = [{ path: 'icon.png', content: new Uint8Array([1]) }];
    for (let i = 0; i < 3; i += 1) await store.registry.publish({ ...publication(), images }, OPERATOR);
    expect(await numbers(store)).toEqual([3, 2, 1]);
    await store.registry.publish(publication(), OPERATOR);
    expect(await numbers(store)).toEqual([4, 3, 2]);
    expect(await store.registry.version('hello', 1)).toBeUndefined();
    expect(await store.registry.script('hello@1')).toBeUndefined();
    await expect(store.registry.activate('hello', 1, OPERATOR)).rejects.toMatchObject({
      code: 'VERSION_UNKNOWN',
    });
    await store.registry.activate('hello', 2, OPERATOR);
  });

  test('that were active until now stay, however old, for a rollback', async () => {
    const store = await temporaryStore({ versionsPerIntegration: 3 });
    for (let i = 0; i < 3; i += 1) await store.registry.publish(publication(), OPERATOR);
    await store.registry.activate('hello', 1, OPERATOR);
    await store.registry.publish(publication(), OPERATOR);
    expect(await numbers(store)).toEqual([4, 3, 1]);
    await store.registry.activate('hello', 1, OPERATOR);
  });

  test('are the new one and the one before it, if only one is to be kept', async () => {
    const store = await temporaryStore({ versionsPerIntegration: 1 });
    for (let i = 0; i < 4; i += 1) await store.registry.publish(publication(), OPERATOR);
    expect(await numbers(store)).toEqual([4, 3]);
  });

  test('of other integrations are left alone', async () => {
    const store = await temporaryStore({ versionsPerIntegration: 2 });
    for (let i = 0; i < 2; i += 1) await store.registry.publish(publication(), OPERATOR);
    for (let i = 0; i < 4; i += 1)
      await store.registry.publish(publication(CONFIGURATIONS, { name: 'other' }), OPERATOR);
    expect(await numbers(store)).toEqual([2, 1]);
  });

  test('that are active already can be activated again', async () => {
    const store = await temporaryStore();
    for (let i = 0; i < 2; i += 1) await store.registry.publish(publication(), OPERATOR);
    const entries = async () => (await store.audit.list({ limit: 100 })).items.length;
    const before = await entries();
    await store.registry.activate('hello', 2, OPERATOR);
    expect(await entries()).toBe(before);
    await store.registry.activate('hello', 1, OPERATOR);
    expect(await entries()).toBe(before + 1);
  });
});

describe('a deleted integration', () => {
  test('cannot be deleted while it is installed, except with its installations', async () => {
    const store = await temporaryStore();
    await store.registry.publish(publication(), OPERATOR);
    for (const organization of ['acme', 'rival'])
      await store.installations.install({ integration: 'hello', organization, externalIds: [] }, OPERATOR);
    const refused = store.registry.delete(HELLO, { cascade: false }, OPERATOR);
    await expect(refused).rejects.toMatchObject({
      code: 'INTEGRATION_INSTALLED',
      message: expect.stringContaining('2 organizations'),
      extra: { installations: 2 },
    });
    expect(await store.registry.integration('hello')).toBeDefined();
    await store.registry.delete(HELLO, { cascade: true }, OPERATOR);
    expect(await store.registry.integration('hello')).toBeUndefined();
    await expect(store.registry.delete(HELLO, { cascade: true }, OPERATOR)).rejects.toMatchObject({
      code: 'INTEGRATION_UNKNOWN',
    });
  });

  test('leaves only its name, its count of versions and the audit entry of its deletion in the store', async () => {
    const folder = await temporaryFolder();
    const store = await openStore(storeOptions(folder));
    const secrets = new Map([['TOKEN', 'hush']]);
    const manifest = publication(`${CONFIGURATIONS}secrets: {TOKEN: x}`);
    const images = [{ path: 'icon.png', content: new Uint8Array([1]) }];
    for (let i = 0; i < 2; i += 1) await store.registry.publish({ ...manifest, secrets, images }, OPERATOR);
    await store.registry.publish(publication(CONFIGURATIONS, { name: 'other' }), OPERATOR);
    const install = async (integration: string, organization: string) => {
      const request = { integration, organization, externalIds: ['ext-1'] };
      const { installationId } = await store.installations.install(request, OPERATOR);
      const place = { installationId, level: 'space', place: 's1', externalIds: ['ext-2'] } as const;
      await store.installations.installBelow(place, OPERATOR);
      const line = { tenant: installationId, version: 1, requestId: 'r', at: CLOCK.now };
      store.logs.append({ ...line, level: 'info', text: 'a line' });
      return installationId;
    };
    const ids = [await install('hello', 'acme'), await install('hello', 'rival')];
    const other = await install('other', 'acme');
    await store.logs.pass();
    await store.registry.delete(HELLO, { cascade: true }, OPERATOR);
    expect(await store.installations.read(wholeInstallation(other))).toBeDefined();
    await store.close();

    const database = await openTestDatabase(folder);
    try {
      const rowsOf = async (table: keyof Tables) =>
        (await database.selectFrom(table).selectAll().execute()).map((row) => JSON.stringify(row));
      const theirs = (row: string) => /"hello"/.test(row) || ids.some((id) => row.includes(id));
      const left = async (table: keyof Tables) => (await rowsOf(table)).filter(theirs).length;
      const emptied = [
        'integrations',
        'versions',
        'images',
        'secrets',
        'targets',
        'external_ids',
        'log_lines',
      ];
      for (const table of emptied as (keyof Tables)[]) expect([table, await left(table)]).toEqual([table, 0]);
      expect((await rowsOf('log_lines')).filter((row) => row.includes(other))).toHaveLength(1);
      const events = (await database.selectFrom('life_events').selectAll().execute()).filter(
        ({ installation_id: id }) => ids.includes(id),
      );
      expect(events.length).toBeGreaterThan(0);
      for (const event of events) expect(event).toMatchObject({ state: 'canceled', sealed_record: '' });
      const pending = await database
        .selectFrom('life_events')
        .selectAll()
        .where('state', '=', 'pending')
        .execute();
      expect(new Set(pending.map((event) => event.installation_id))).toEqual(new Set([other]));
      expect(await rowsOf('deleted_integrations')).toEqual([
        JSON.stringify({ name: 'hello', latest_version: 2 }),
      ]);
    } finally {
      await database.destroy();
    }
  });

  // Cells and source maps identify code by name and number: a second "hello@1" would run as the
  // first.
  test("attack: the next owner of its name never runs the former owner's code", async () => {
    const store = await temporaryStore();
    const { registry } = store;
    await registry.publish({ ...publication(), script: 'one' }, OPERATOR);
    await registry.publish({ ...publication(), script: 'two' }, OPERATOR);
    await registry.delete(HELLO, { cascade: false }, OPERATOR);
    const rivals = publication(CONFIGURATIONS, { organization: 'rival' });
    expect(await registry.publish({ ...rivals, script: 'theirs' }, OPERATOR)).toMatchObject({ version: 3 });
    expect(await registry.integration('hello')).toMatchObject({ organization: 'rival', activeVersion: 3 });
    expect(String(await registry.script('hello@3'))).toBe('theirs');
    expect(await registry.script('hello@1')).toBeUndefined();
    // The former owner may not delete it any more.
    await expect(registry.delete(HELLO, { cascade: true }, OPERATOR)).rejects.toMatchObject({
      code: 'INTEGRATION_UNKNOWN',
    });
    await registry.delete({ name: 'hello', organization: 'rival' }, { cascade: false }, OPERATOR);
    expect(await registry.publish(publication(), OPERATOR)).toMatchObject({ version: 4 });
  });

  test('can be deleted by its owner only, and its endpoints become unknown', async () => {
    const annex = await startTestService();
    const at = await annex.deploy('hello', "export default { fetch: () => new Response('here') };");
    const { tokens } = annex.service.store;
    const token = async (organization: string) =>
      (await tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
    const deleted = async (as: string, query = '') => {
      const { status, body } = await annex.api('DELETE', `/v1/integrations/hello${query}`, { token: as });
      return `${status} ${(body['error'] as { code: string } | undefined)?.code ?? ''}`;
    };
    const owner = await token('acme');
    expect(await deleted(annex.platform)).toBe('403 TOKEN_FORBIDDEN');
    expect(await deleted(await token('rival'))).toBe('404 INTEGRATION_UNKNOWN');
    expect(await deleted(owner)).toBe('409 INTEGRATION_INSTALLED');
    expect(await deleted(owner, '?cascade=maybe')).toBe('400 REQUEST_INVALID');
    expect(await deleted(owner, '?force=true')).toBe('400 REQUEST_INVALID');
    expect(await (await fetch(at.endpoint)).text()).toBe('here');
    expect(await deleted(owner, '?cascade=true')).toBe('204 ');
    expect((await fetch(at.endpoint)).status).toBe(404);
    expect((await annex.api('GET', `/v1/integrations/hello/installations/${at.id}`)).status).toBe(404);
    expect(await deleted(owner, '?cascade=true')).toBe('404 INTEGRATION_UNKNOWN');
    const again = await annex.deploy('hello', "export default { fetch: () => new Response('again') };");
    expect(await (await fetch(again.endpoint)).text()).toBe('again');
  });
});

describe('a cell', () => {
  let build: CellBuild;
  beforeAll(async () => {
    build = await buildCell(await cellSources());
  });
  afterAll(() => build.remove());

  test('attack: that requests a deleted version fails that call, and still serves others', async () => {
    const script = async (key: string) =>
      key === 'kept@1'
        ? Buffer.from(
            "(async function (__run) { __run({ default: { fetch: () => new Response('kept') } }); })",
          )
        : undefined;
    let died = false;
    const cell = new CellProcess(build, new CellLauncher(build), DEFAULT_LIMITS, {
      script,
      unwell: () => undefined,
      exited: () => {
        died = true;
      },
    });
    const event = Buffer.from(
      JSON.stringify({
        eventId: 'e',
        type: 'fetch',
        request: { method: 'GET', url: 'https://a.example/', headers: {} },
      }),
    );
    const environment = Buffer.from('{}');
    const call = (id: number, key: string) =>
      new Promise<{ end: CallEnd; status?: number; logged: string }>((resolve) => {
        let status: number | undefined;
        let logged = '';
        const budgets = { cpuMs: 1_000, wallMs: 10_000, firstByteMs: 10_000 };
        const lengths = { eventBytes: event.byteLength, environmentBytes: environment.byteLength };
        cell.submit(
          {
            t: 'call',
            id,
            isolate: `i${id}/${key}`,
            holder: 'own',
            script: key,
            url: 'https://a.example/v1',
            ...budgets,
            ...lengths,
          },
          {
            owner: `i${id}`,
            script: key,
            wallMs: budgets.wallMs,
            log: (_level: string, text: string) => {
              logged += text;
            },
            placed: () => undefined,
            response: (answered) => {
              status = answered.status;
              return true;
            },
            end: (end: CallEnd) => resolve({ end, logged, ...(status !== undefined && { status }) }),
          },
          event,
          environment,
        );
      });
    const [gone, kept] = await Promise.all([call(1, 'gone@1'), call(2, 'kept@1')]);
    expect(gone.end.outcome).toBe('exception');
    expect(gone.logged).toContain('deleted before it could be loaded');
    expect(kept).toMatchObject({ status: 200, end: { outcome: 'ok' } });
    expect(died).toBe(false);
    cell.kill('the test is over');
  });
});
