/**
 * Conformance suite of storage engines: it runs once for each engine, and all keep the same
 * promises.
 */

import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AnnexError } from '../../../src/errors.ts';
import { Sequence } from '../../../src/host/database/sequence.ts';
import { Installations } from '../../../src/host/store/installations/installations.ts';
import { type LogLine, Logs } from '../../../src/host/store/logs.ts';
import { Vault } from '../../../src/host/store/vault/vault.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { Actor } from '../../../src/model/actor.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { Marketplace } from '../../../src/model/review.ts';
import { NO_NOTICES, registryOver } from '../../support/store/targets.ts';
import { CLOCK, OPERATOR, ORIGINS, published, temporaryFolder } from '../../support/store/temporary-store.ts';
import { IS_POSTGRES, openTestDatabase } from '../../support/store/test-engine.ts';

const NO_SECRETS: ReadonlyMap<string, string> = new Map();
const NOBODY = 'a'.repeat(32);

describe(IS_POSTGRES ? 'postgres' : 'sqlite', () => {
  const open = async (limits = {}, marketplace: Marketplace = 'open') => {
    const database = await openTestDatabase(await temporaryFolder());
    onTestFinished(() => database.destroy());
    const vault = new Vault([randomBytes(32)], randomBytes);
    const parts = { vault, wallNow: () => CLOCK.now, randomBytes };
    const auditIds = new Sequence(randomBytes);
    const { registry, targets, changes } = registryOver(database, vault, marketplace);
    const changed = (id: string, organization: string) => void changes.emit('installation', id, organization);
    return {
      database,
      vault,
      registry,
      targets,
      installations: new Installations({
        ...{ ...parts, auditIds, database, changed, limits: DEFAULT_LIMITS },
        removed: () => undefined,
        productNotices: NO_NOTICES,
      }),
      logs: new Logs({
        ...parts,
        database,
        limits: { ...DEFAULT_LIMITS, ...limits },
        isShared: false,
        monotonicNow: () => 0,
      }),
    };
  };

  const installed = async (installations: Installations, integration = 'hello', organization = 'acme') => {
    const installation = await installations.install(
      { integration, organization, externalIds: [] },
      OPERATOR,
    );
    return installation.endpointKey;
  };

  describe('publishing', () => {
    test('makes versions 1, 2, 3, and never changes a published one', async () => {
      const { registry } = await open();
      for (const script of ['one', 'two', 'three']) {
        await registry.publish(
          {
            manifest: published(),
            script,
            sourceMap: `map of ${script}`,
            secrets: NO_SECRETS,
          },
          OPERATOR,
        );
      }
      expect(String(await registry.script('hello@1'))).toBe('one');
      expect(String(await registry.script('hello@3'))).toBe('three');
      expect(await registry.sourceMap('hello@2')).toBe('map of two');
      expect(await registry.integration('hello')).toMatchObject({ activeVersion: 3, organization: 'acme' });
      for (const unknown of ['hello@4', 'other@1', 'hello', '@1', 'hello@x']) {
        expect(await registry.script(unknown)).toBeUndefined();
      }
    });

    test('the same name many times concurrently gives consecutive numbers', async () => {
      const { registry } = await open();
      const publication = { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS };
      const done = await Promise.all(
        Array.from({ length: 8 }, () => registry.publish(publication, OPERATOR)),
      );
      expect(done.map((published) => published?.version).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });

    test('over the name of another organization changes nothing', async () => {
      const { registry } = await open();
      await registry.publish(
        { manifest: published(), script: 'ours', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      const stolen = published({ organization: 'rival', visibility: 'private' });
      expect(
        await registry.publish(
          { manifest: stolen, script: 'theirs', sourceMap: '{}', secrets: NO_SECRETS },
          OPERATOR,
        ),
      ).toBeUndefined();
      expect(await registry.integration('hello')).toMatchObject({
        organization: 'acme',
        visibility: 'public',
        activeVersion: 1,
      });
    });

    test('that fails halfway leaves no rows behind', async () => {
      const { registry } = await open();
      await registry.publish(
        { manifest: published(), script: 'one', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      // The vault cannot seal this value, which fails the transaction after the rows of the
      // version.
      const broken = new Map([['TOKEN', undefined as unknown as string]]);
      await expect(
        registry.publish(
          { manifest: published(), script: 'two', sourceMap: '{}', secrets: broken },
          OPERATOR,
        ),
      ).rejects.toThrow();
      expect(await registry.integration('hello')).toMatchObject({ activeVersion: 1 });
      expect(await registry.script('hello@2')).toBeUndefined();
      expect(
        await registry.publish(
          {
            manifest: published(),
            script: 'two',
            sourceMap: '{}',
            secrets: NO_SECRETS,
          },
          OPERATOR,
        ),
      ).toMatchObject({ version: 2 });
    });

    test('accepts a script of the maximum size, in any writing system', async () => {
      const { registry } = await open();
      const script = 'é😀 '.repeat(DEFAULT_LIMITS.scriptBytes / 7);
      await registry.publish(
        { manifest: published(), script, sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      expect(String(await registry.script('hello@1'))).toBe(script);
    });
  });

  describe('targets', () => {
    test('a call that starts after a publish is answered sees the new version', async () => {
      const { registry, installations, targets } = await open();
      await registry.publish(
        { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      const key = await installed(installations);
      expect(await targets.get(key)).toMatchObject({
        version: 1,
        integration: 'hello',
        organization: 'acme',
      });
      await registry.publish(
        { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      expect((await targets.get(key))?.version).toBe(2);
      await registry.activate('hello', 1, OPERATOR);
      expect((await targets.get(key))?.version).toBe(1);
    });

    test('a read in flight during a publish is not cached', async () => {
      const { registry, installations, targets } = await open();
      const publication = { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS };
      await registry.publish(publication, OPERATOR);
      const key = await installed(installations);
      await Promise.all([targets.get(key), registry.publish(publication, OPERATOR), targets.get(key)]);
      expect((await targets.get(key))?.version).toBe(2);
    });

    test('a publish of one integration keeps the cached targets of others', async () => {
      const { registry, installations, targets } = await open();
      await registry.publish(
        { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      const target = await targets.get(await installed(installations));
      await registry.publish(
        {
          manifest: published({ name: 'other' }),
          script: '',
          sourceMap: '{}',
          secrets: NO_SECRETS,
        },
        OPERATOR,
      );
      expect(await targets.get(target?.endpointKey ?? '')).toBe(target);
    });

    test('have the environment of their own installation, encoded once', async () => {
      const { registry, installations, targets } = await open();
      const manifest = published({}, 'secrets:\n  TOKEN: x');
      await registry.publish(
        {
          manifest,
          script: '',
          sourceMap: '{}',
          secrets: new Map([['TOKEN', 'value']]),
        },
        OPERATOR,
      );
      const [one, other] = [await installed(installations), await installed(installations, 'hello', 'rival')];
      const target = await targets.get(one);
      expect(JSON.parse(String(Buffer.from(target?.environmentJson ?? [])))).toEqual(target?.environment);
      expect(target?.publicEndpoint).toBe(`${ORIGINS.publicUrl}/${one}`);
      expect(target?.environment).toMatchObject({
        apiEndpoint: ORIGINS.apiEndpoint,
        secrets: { TOKEN: 'value' },
        integration: { name: 'hello', version: 1 },
        installation: { status: 'active', target: { organization: 'acme' } },
        urls: { publicEndpoint: target?.publicEndpoint },
        target: { organization: 'acme' },
      });
      const own = target?.environment.signingSecrets.installation;
      expect(target?.signingSecrets).toEqual([own]);
      expect(own).toMatch(/^[A-Za-z0-9_-]{43}$/);
      const neighbour = JSON.stringify((await targets.get(other))?.environment);
      expect(neighbour).not.toContain(own);
    });

    test('of an unknown or malformed key do not exist', async () => {
      const { targets } = await open();
      for (const key of [NOBODY, '', '../admin', `${NOBODY}x`])
        expect(await targets.get(key)).toBeUndefined();
    });

    test('of a version that was rolled back to have the secrets it declares, at their current values', async () => {
      const { registry, installations, targets } = await open();
      const named = (name: string) => published({}, `secrets:\n  ${name}: x\n  SHARED: x`);
      await registry.publish(
        {
          manifest: named('OLD'),
          script: '',
          sourceMap: '{}',
          secrets: new Map([
            ['OLD', '1'],
            ['SHARED', '1'],
          ]),
        },
        OPERATOR,
      );
      await registry.publish(
        {
          manifest: named('NEW'),
          script: '',
          sourceMap: '{}',
          secrets: new Map([
            ['NEW', '2'],
            ['SHARED', '2'],
          ]),
          overwriteSecrets: true,
        },
        OPERATOR,
      );
      const key = await installed(installations);
      expect((await targets.get(key))?.environment.secrets).toEqual({ NEW: '2', SHARED: '2' });
      await registry.activate('hello', 1, OPERATOR);
      expect((await targets.get(key))?.environment.secrets).toEqual({ OLD: '1', SHARED: '2' });
    });
  });

  test('activating a version that does not exist is refused and changes nothing', async () => {
    const { registry } = await open();
    await registry.publish(
      { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
      OPERATOR,
    );
    await expect(registry.activate('hello', 2, OPERATOR)).rejects.toMatchObject({ code: 'VERSION_UNKNOWN' });
    await expect(registry.activate('nothing', 1, OPERATOR)).rejects.toMatchObject({
      code: 'INTEGRATION_UNKNOWN',
    });
    expect(await registry.integration('hello')).toMatchObject({ activeVersion: 1 });
  });

  describe('review', () => {
    const AUTHOR: Actor = {
      ...OPERATOR,
      principal: { kind: 'organization', tokenId: 'tok_author', organization: 'acme' },
    };
    /** A marketplace that is reviewed, and what its tests do in it. */
    const reviewed = async () => {
      const opened = await open({}, 'reviewed');
      const { registry } = opened;
      const publish = (visibility: string, by = AUTHOR, over = registry) =>
        over.publish(
          { manifest: published({ visibility }), script: '', sourceMap: '{}', secrets: NO_SECRETS },
          by,
        );
      const approve = (number: number) => registry.approve('hello', number, OPERATOR);
      const states = async () =>
        (await registry.versions({ integration: 'hello', limit: 9 })).items.map(
          ({ number, review }) => `${number} ${review?.state}`,
        );
      const now = async () => {
        const { visibility, activeVersion, waitingVersion } = (await registry.integration('hello')) ?? {};
        return [visibility, activeVersion, waitingVersion];
      };
      const activate = (number: number) => registry.activate('hello', number, AUTHOR);
      return { ...opened, publish, approve, states, now, activate };
    };
    const UNAPPROVED = { code: 'VERSION_UNAPPROVED' };

    test('lets an organization try what waits by itself, and shows it to others once it is approved', async () => {
      const { registry, publish, approve, now, installations } = await reviewed();
      expect(await publish('public')).toMatchObject({ version: 1, waits: { activeVersion: 1 } });
      expect(await now()).toEqual(['private', 1, 1]);
      await installed(installations);
      await expect(installed(installations, 'hello', 'other')).rejects.toMatchObject({
        code: 'INSTALLATION_FORBIDDEN',
      });
      expect(await approve(1)).toMatchObject({ review: { state: 'approved', at: CLOCK.now } });
      expect(await now()).toEqual(['public', 1, undefined]);
      await installed(installations, 'hello', 'other');
      expect(await publish('public')).toMatchObject({ version: 2, waits: { activeVersion: 1 } });
      expect(await now()).toEqual(['public', 1, 2]);
      const waiting = { isWaiting: true, limit: 9 };
      expect((await registry.integrations(waiting)).items).toMatchObject([{ name: 'hello' }]);
      expect((await registry.integrations({ ...waiting, visibleTo: 'other' })).items).toEqual([]);
      await approve(2);
      await approve(2);
      expect(await now()).toEqual(['public', 2, undefined]);
    });

    test('asks nothing of the operator, of a private and of an unlisted integration', async () => {
      const { publish, now, states } = await reviewed();
      expect(await publish('private')).not.toHaveProperty('waits');
      expect(await publish('unlisted')).not.toHaveProperty('waits');
      expect(await now()).toEqual(['unlisted', 2, undefined]);
      await publish('public');
      expect(await now()).toEqual(['unlisted', 3, 3]);
      expect(await publish('public', OPERATOR)).not.toHaveProperty('waits');
      expect(await now()).toEqual(['public', 4, undefined]);
      expect(await states()).toEqual(['4 approved', '3 unreviewed', '2 unreviewed', '1 unreviewed']);
    });

    test('leaves what was public before it as it is, with its versions', async () => {
      const { database, vault, publish, now, activate } = await reviewed();
      const { registry: before } = registryOver(database, vault);
      for (let i = 0; i < 2; i += 1) await publish('public', AUTHOR, before);
      expect(await now()).toEqual(['public', 2, undefined]);
      await publish('public');
      expect(await now()).toEqual(['public', 2, 3]);
      await activate(1);
      expect(await now()).toEqual(['public', 1, 3]);
      await expect(activate(3)).rejects.toMatchObject(UNAPPROVED);
    });

    test('attack: a version from before, of an integration that is not public, does not make it public', async () => {
      const { database, vault, publish, now, activate } = await reviewed();
      const { registry: before } = registryOver(database, vault);
      for (const visibility of ['public', 'private']) await publish(visibility, AUTHOR, before);
      await activate(1);
      expect(await now()).toEqual(['private', 1, undefined]);
    });

    test('refuses with a reason, also what it had approved, but not what runs', async () => {
      const { registry, publish, approve, states, now, activate } = await reviewed();
      const refuse = (number: number) => registry.refuse('hello', number, 'No.', OPERATOR);
      await publish('public');
      expect(await refuse(1)).toMatchObject({ review: { state: 'refused', reason: 'No.' } });
      expect(await now()).toEqual(['private', 1, undefined]);
      await publish('public');
      await approve(2);
      await expect(refuse(2)).rejects.toMatchObject({ code: 'VERSION_ACTIVE' });
      await publish('public');
      await approve(3);
      await activate(2);
      await refuse(3);
      await refuse(3);
      await expect(activate(3)).rejects.toMatchObject(UNAPPROVED);
      expect(await states()).toEqual(['3 refused', '2 approved', '1 refused']);
    });

    test('approves the version that was looked at, also while a newer one is published', async () => {
      const { publish, approve, now, states } = await reviewed();
      await publish('public');
      await Promise.all([approve(1), publish('public')]);
      expect([await now(), await states()]).toEqual([
        ['public', 1, 2],
        ['2 waiting', '1 approved'],
      ]);
    });

    // Attack: an author has harmless code approved, and then swaps it.
    test('attack: no version that is not approved runs for others, by whatever way it came', async () => {
      const { registry, publish, approve, now, activate, states } = await reviewed();
      await publish('private');
      await publish('public');
      await approve(2);
      await expect(activate(1)).rejects.toMatchObject(UNAPPROVED);
      for (const visibility of ['public', 'private', 'unlisted']) await publish(visibility);
      for (const number of [3, 4, 5]) await expect(activate(number)).rejects.toMatchObject(UNAPPROVED);
      expect(await now()).toEqual(['public', 2, 5]);
      // Also after it is private again: other organizations have it installed.
      await approve(4);
      expect(await now()).toEqual(['private', 4, 5]);
      await publish('private');
      await expect(activate(6)).rejects.toMatchObject(UNAPPROVED);
      await activate(2);
      expect(await now()).toEqual(['public', 2, 6]);
      expect(await states()).toEqual([
        ...['6 waiting', '5 waiting', '4 approved', '3 unreviewed', '2 approved', '1 unreviewed'],
      ]);
      await registry.delete({ name: 'hello', organization: 'acme' }, { cascade: true }, AUTHOR);
      await publish('public');
      expect(await now()).toEqual(['private', 7, 7]);
    });
  });

  describe('installing', () => {
    test('happens once an organization, also concurrently', async () => {
      const { registry, installations } = await open();
      await registry.publish(
        { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      const attempts = await Promise.allSettled([installed(installations), installed(installations)]);
      const refused = attempts.filter((attempt) => attempt.status === 'rejected');
      expect(refused).toMatchObject([{ reason: { code: 'INSTALLATION_EXISTS' } }]);
      expect((await installations.list({ integration: 'hello', limit: 10 })).items).toHaveLength(1);
    });

    test.each(['private', 'unlisted'])(
      'a %s integration is installable by its owner only',
      async (visibility) => {
        const { registry, installations } = await open();
        await registry.publish(
          {
            manifest: published({ visibility }),
            script: '',
            sourceMap: '{}',
            secrets: NO_SECRETS,
          },
          OPERATOR,
        );
        await installed(installations);
        await expect(installed(installations, 'hello', 'other')).rejects.toMatchObject({
          code: 'INSTALLATION_FORBIDDEN',
        });
      },
    );

    test('an unknown integration is refused', async () => {
      const { installations } = await open();
      await expect(installed(installations)).rejects.toBeInstanceOf(AnnexError);
    });

    test('stores external ids, by which installations are found', async () => {
      const { registry, installations } = await open();
      await registry.publish(
        { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      const request = { integration: 'hello', organization: 'a', externalIds: ['x', 'y', 'x'] };
      const { installationId: id } = await installations.install(request, OPERATOR);
      await installations.install({ ...request, organization: 'b', externalIds: ['y'] }, OPERATOR);
      expect((await installations.read(wholeInstallation(id)))?.externalIds).toEqual(['x', 'y']);
      const found = async (externalId: string) =>
        (await installations.list({ integration: 'hello', externalId, limit: 9 })).items.map(
          (one) => one.organization,
        );
      expect(await found('x')).toEqual(['a']);
      expect((await found('y')).toSorted()).toEqual(['a', 'b']);
      expect(await found('z')).toEqual([]);
    });

    test('pages list every installation once, while others are added', async () => {
      const { registry, installations } = await open();
      await registry.publish(
        { manifest: published(), script: '', sourceMap: '{}', secrets: NO_SECRETS },
        OPERATOR,
      );
      for (let i = 0; i < 10; i += 1) await installed(installations, 'hello', `o${i}`);
      const before = await installations.list({ integration: 'hello', limit: 100 });
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await installations.list({ integration: 'hello', limit: 3, cursor });
        seen.push(...page.items.map(({ installationId }) => installationId));
        cursor = page.next;
        await installed(installations, 'hello', `late-${seen.length}`);
      } while (cursor !== undefined);
      expect(seen).toEqual(expect.arrayContaining(before.items.map(({ installationId }) => installationId)));
      expect(new Set(seen).size).toBe(seen.length);
    });
  });

  test('lists show an organization its own integrations and public ones', async () => {
    const { registry } = await open();
    for (const [name, organization, visibility] of [
      ['a', 'acme', 'private'],
      ['b', 'rival', 'public'],
      ['c', 'rival', 'private'],
    ] as const) {
      await registry.publish(
        {
          manifest: published({ name, organization, visibility }),
          script: '',
          sourceMap: '{}',
          secrets: NO_SECRETS,
        },
        OPERATOR,
      );
    }
    const names = async (visibleTo?: string) =>
      (await registry.integrations({ visibleTo, limit: 9 })).items.map(({ name }) => name);
    expect(await names()).toEqual(['a', 'b', 'c']);
    expect(await names('acme')).toEqual(['a', 'b']);
    const page = await registry.integrations({ limit: 2 });
    expect(page.next).toBe('b');
    expect((await registry.integrations({ limit: 2, cursor: page.next })).items).toMatchObject([
      { name: 'c' },
    ]);
  });

  describe('logs', () => {
    const line = (text: string, more: Partial<LogLine> = {}): LogLine => ({
      tenant: 'ins_a',
      version: 1,
      requestId: 'r',
      level: 'info',
      text,
      at: CLOCK.now,
      ...more,
    });
    const texts = async (logs: Logs, query = {}) =>
      (await logs.list({ tenant: 'ins_a', limit: 100, ...query })).items.map(({ text }) => text);

    test('are listed newest first, in the order of arrival', async () => {
      const { logs } = await open();
      for (const text of ['one', 'two', 'three']) logs.append(line(text));
      logs.append(line('elsewhere', { tenant: 'ins_b' }));
      await logs.pass();
      logs.append(line('four'));
      await logs.pass();
      expect(await texts(logs)).toEqual(['four', 'three', 'two', 'one']);
      const { items, next } = await logs.list({ tenant: 'ins_a', limit: 3 });
      expect(items.map(({ text }) => text)).toEqual(['four', 'three', 'two']);
      expect(await texts(logs, { cursor: next })).toEqual(['one']);
    });

    test('are filtered by a level and those above it', async () => {
      const { logs } = await open();
      for (const level of ['debug', 'info', 'warn', 'error'] as const) logs.append(line(level, { level }));
      await logs.pass();
      expect(await texts(logs, { level: 'warn' })).toEqual(['error', 'warn']);
    });

    test('keep the newest lines of each installation, up to the limit', async () => {
      const { logs } = await open({ logLinesPerInstallation: 5 });
      for (let i = 0; i < 5; i += 1) logs.append(line(`a${i}`));
      await logs.pass();
      expect(await texts(logs)).toHaveLength(5);
      logs.append(line('b'));
      logs.append(line('b', { tenant: 'ins_b' }));
      await logs.pass();
      expect(await texts(logs)).toEqual(['b', 'a4', 'a3', 'a2', 'a1']);
    });

    test('a flood drops lines of its own installation only, and reports their number', async () => {
      const { logs } = await open({ logLinesPerInstallation: 10 });
      for (let i = 0; i < 1_000; i += 1) logs.append(line(`flood ${i}`));
      logs.append(line('calm', { tenant: 'ins_b' }));
      await logs.pass();
      expect((await texts(logs))[0]).toMatch(/^990 lines were dropped/);
      expect((await logs.list({ tenant: 'ins_b', limit: 9 })).items).toMatchObject([{ text: 'calm' }]);
      logs.append(line('after'));
      await logs.pass();
      expect((await texts(logs))[0]).toBe('after');
    });

    test('a line over the limit of a call is truncated, and U+0000 is replaced', async () => {
      const { logs } = await open();
      logs.append(line(`\0${'x'.repeat(2 * DEFAULT_LIMITS.logBytesPerCall)}`));
      await logs.pass();
      const [text = ''] = await texts(logs);
      expect(text.startsWith('\u{fffd}x')).toBe(true);
      expect(text).toHaveLength(DEFAULT_LIMITS.logBytesPerCall);
    });

    test('concurrent passes write each line once', async () => {
      const { logs } = await open();
      logs.append(line('one'));
      const first = logs.pass();
      logs.append(line('two'));
      await Promise.all([first, logs.pass(), logs.pass()]);
      expect(await texts(logs)).toEqual(['two', 'one']);
    });
  });

  test('opening again finds all data, and migrates nothing twice', async () => {
    const folder = await temporaryFolder();
    const first = await openTestDatabase(folder);
    const vault = new Vault([randomBytes(32)], randomBytes);
    await registryOver(first, vault).registry.publish(
      {
        manifest: published(),
        script: 's',
        sourceMap: '{}',
        secrets: NO_SECRETS,
      },
      OPERATOR,
    );
    await first.destroy();
    const second = await openTestDatabase(folder);
    onTestFinished(() => second.destroy());
    expect(String(await registryOver(second, vault).registry.script('hello@1'))).toBe('s');
  });
});
