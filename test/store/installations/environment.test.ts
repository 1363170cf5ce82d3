/**
 * The environment of a call: all members promised to its target
 * (docs/contract/environment.md#members), in both shapes, and no value of another target.
 */

import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/host/database/tables.ts';
import {
  credentialsPlace,
  insertTarget,
  readTarget,
  type SealedInstallation,
  signingSecretPlace,
} from '../../../src/host/store/installations/target-rows.ts';
import type { Registry } from '../../../src/host/store/integrations/registry.ts';
import { Vault } from '../../../src/host/store/vault/vault.ts';
import type { TargetResolver } from '../../../src/host/targets/target-resolver.ts';
import type { Environment } from '../../../src/model/environment.ts';
import { endpointKey } from '../../../src/model/identifiers.ts';
import type { TargetName } from '../../../src/model/installation.ts';
import type { Level } from '../../../src/model/level.ts';
import { eventIds } from '../../../src/model/target.ts';
import { Chance } from '../../support/fuzz/fuzz.ts';
import { registryOver } from '../../support/store/targets.ts';
import { CLOCK, OPERATOR, ORIGINS, published, temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

const WORLDS = 12;

/** A registry and a resolver over a real database, into which targets are inserted as rows. */
class World {
  readonly registry: Registry;
  readonly targets: TargetResolver;
  readonly database: Database;
  readonly #vault: Vault;

  private constructor(database: Database, vault: Vault) {
    const { registry, targets } = registryOver(database, vault);
    this.registry = registry;
    this.targets = targets;
    this.database = database;
    this.#vault = vault;
  }

  static async open(): Promise<World> {
    const database = await openTestDatabase(await temporaryFolder());
    onTestFinished(() => database.destroy());
    return new World(database, new Vault([randomBytes(32)], randomBytes));
  }

  async publish(name: string, secrets: Record<string, string> = {}): Promise<void> {
    const names = Object.keys(secrets).map((secret) => `  ${secret}: \${{ env.X }}`);
    const yaml = names.length === 0 ? '' : `secrets:\n${names.join('\n')}`;
    const manifest = published({ name }, yaml);
    await this.registry.publish(
      { manifest, script: '', sourceMap: '{}', secrets: new Map(Object.entries(secrets)) } as Parameters<
        Registry['publish']
      >[0],
      OPERATOR,
    );
  }

  async put(target: PutTarget): Promise<string> {
    const key = endpointKey(randomBytes);
    const { signingSecret, credentials, ...rest } = target;
    await insertTarget(this.database, {
      ...{ status: 'active', configuration: {}, externalIds: [], pausedAt: null, revision: 1 },
      ...{ spaceSelection: 'all', siteSelection: 'selected', createdAt: CLOCK.now, updatedAt: CLOCK.now },
      ...rest,
      endpointKey: key,
      sealedSigningSecret: this.#vault.seal(signingSecretPlace(target), signingSecret ?? 'unused'),
      sealedCredentials:
        credentials === undefined
          ? null
          : this.#vault.seal(credentialsPlace(target), JSON.stringify(credentials)),
    });
    return key;
  }

  async environment(key: string): Promise<{ environment: Environment; text: string }> {
    const target = await this.targets.get(key);
    if (target === undefined) throw new Error(`Nothing answers at ${key}.`);
    const text = Buffer.from(target.environmentJson).toString('utf8');
    return { environment: JSON.parse(text) as Environment, text };
  }
}

type PutTarget = TargetName &
  Pick<SealedInstallation, 'integration' | 'organization'> &
  Partial<Pick<SealedInstallation, 'status' | 'configuration' | 'externalIds'>> & {
    readonly signingSecret?: string;
    readonly credentials?: object;
  };

const at = (level: Level, place = '', installationId = 'ins_1'): TargetName => ({
  installationId,
  level,
  place,
});
const OF = { integration: 'hello', organization: 'acme' };

/** Inserts an installation, a space and a site of it. @returns their endpoint keys */
async function hello(world: World) {
  await world.publish('hello', { KEY: 'the secret' });
  const installation = await world.put({
    ...{ ...at('organization'), ...OF, signingSecret: 'whole', externalIds: ['T1'] },
    ...{ configuration: { color: 'red' }, credentials: { access_token: 'of the whole' } },
  });
  const space = await world.put({
    ...{ ...at('space', 'sp_1'), ...OF, signingSecret: 'space', status: 'pending' as const },
    ...{ configuration: { channel: 'general' }, externalIds: ['C1', 'C2'] },
  });
  const site = await world.put({
    ...{ ...at('site', 'si_1'), ...OF, signingSecret: 'site' },
    ...{ configuration: { tag: 'x' }, credentials: { access_token: 'of the site' } },
  });
  return { installation, space, site };
}

describe('the environment of an endpoint', () => {
  const urlsOf = (key: string, path = '/integrations/hello/installations/ins_1') => ({
    location: `${ORIGINS.apiUrl}${path}`,
    app: `${ORIGINS.appUrl}${path}`,
    publicEndpoint: `${ORIGINS.publicUrl}/${key}`,
    publicContentEndpoint: `${ORIGINS.contentUrl}/${key}`,
  });
  const integrationUrls = async (world: World) => {
    const { endpointKey: key = '' } = (await world.registry.integration('hello')) ?? {};
    return {
      ...urlsOf(key, '/integrations/hello'),
      assets: `${ORIGINS.publicUrl}/${key}/~assets`,
    };
  };
  const integrationOf = async (world: World) => ({
    ...{ object: 'integration', name: 'hello', title: 'hello title', description: 'An example.', version: 1 },
    ...{
      visibility: 'public',
      target: 'all',
      verified: false,
      scopes: [],
      categories: [],
      externalLinks: [],
    },
    ...{ previewImages: [], permissions: { admin: false }, urls: await integrationUrls(world) },
    owner: {
      ...{ object: 'organization', id: 'acme', title: 'acme' },
      urls: {
        location: `${ORIGINS.apiUrl}/organizations/acme`,
        app: `${ORIGINS.appUrl}/organizations/acme`,
      },
    },
  });
  const WHOLE = { color: 'red', oauth_credentials: { access_token: 'of the whole' } };
  const created = new Date(CLOCK.now).toISOString();
  const installationOf = (key: string) => ({
    ...{ id: 'ins_1', status: 'active', target: { organization: 'acme' }, externalIds: ['T1'] },
    ...{ space_selection: 'all', site_selection: 'selected', spaces: 1, configuration: WHOLE },
    ...{ urls: urlsOf(key), createdAt: created, updatedAt: created },
  });

  test('of an organization has the installation in both shapes, and no space or site', async () => {
    const world = await World.open();
    const { installation } = await hello(world);
    const { environment } = await world.environment(installation);
    expect(environment).toEqual({
      apiEndpoint: ORIGINS.apiEndpoint,
      apiTokens: {
        integration: expect.stringMatching(/^annex_run_/),
        installation: expect.stringMatching(/^annex_run_/),
      },
      secrets: { KEY: 'the secret' },
      signingSecrets: { integration: expect.any(String), installation: 'whole' },
      integration: await integrationOf(world),
      installation: installationOf(installation),
      ...{ id: 'ins_1', status: 'active', target: { organization: 'acme' }, space_selection: 'all' },
      ...{ configuration: WHOLE, externalIds: ['T1'], urls: urlsOf(installation) },
    });
  });

  test('of the integration has no installation, and the tokens and secrets of the integration', async () => {
    const world = await World.open();
    await hello(world);
    const target = await world.targets.ofIntegration('hello');
    const { environment } = await world.environment(target?.endpointKey ?? '');
    expect(environment).toEqual({
      apiEndpoint: ORIGINS.apiEndpoint,
      apiTokens: { integration: expect.stringMatching(/^annex_run_/) },
      secrets: { KEY: 'the secret' },
      signingSecrets: { integration: expect.any(String) },
      integration: await integrationOf(world),
    });
    expect(target).toMatchObject({ level: 'integration', installationId: '', place: '', status: 'active' });
    expect(target?.organization).toBe('acme');
    expect(target?.signingSecrets).toEqual([environment.signingSecrets.integration]);
  });

  // Attack: rows that were altered in the database. What the vault has sealed for one integration
  // opens by its name, which the manifest of a version has, too.
  test('of an integration whose manifest names another one is not made, with whatever sealed values', async () => {
    const world = await World.open();
    await hello(world);
    await world.publish('evil', { KEY: 'its own' });
    const evil = await world.put({ ...at('organization', '', 'ins_2'), ...OF, integration: 'evil' });
    const copies = [
      sql`update versions set manifest = (select manifest from versions where integration = 'hello')`,
      sql`update integrations
        set sealed_signing_secret = (select sealed_signing_secret from integrations where name = 'hello')`,
    ];
    for (const copy of copies) await copy.execute(world.database);
    await expect(world.targets.get(evil)).rejects.toThrow('of "evil" was altered');
    await expect(world.targets.ofIntegration('evil')).rejects.toThrow('of "evil" was altered');
    expect((await world.targets.ofIntegration('hello'))?.environment.secrets).toEqual({ KEY: 'the secret' });
  });

  test('of the integration ends with it, and is another one under the same name', async () => {
    const world = await World.open();
    await world.publish('hello');
    const before = await world.targets.ofIntegration('hello');
    await world.publish('hello');
    expect((await world.targets.ofIntegration('hello'))?.endpointKey).toBe(before?.endpointKey);
    await world.registry.delete({ name: 'hello', organization: 'acme' }, { cascade: true }, OPERATOR);
    expect(await world.targets.ofIntegration('hello')).toBeUndefined();
    expect(await world.targets.get(before?.endpointKey ?? '')).toBeUndefined();
    await world.publish('hello');
    const after = await world.targets.ofIntegration('hello');
    expect(after?.tenant).toMatch(/^int_[a-z2-7]{32}$/);
    expect(after?.tenant).not.toBe(before?.tenant);
  });

  test('of a space has the space, and its installation', async () => {
    const world = await World.open();
    const { installation, space } = await hello(world);
    const { environment } = await world.environment(space);
    const own = {
      ...{ status: 'pending', configuration: { channel: 'general' }, externalIds: ['C1', 'C2'] },
      urls: urlsOf(space, '/integrations/hello/installations/ins_1/spaces/sp_1'),
    };
    expect(environment.installation).toEqual(installationOf(installation));
    expect(environment.spaceInstallation).toEqual({
      ...{ integration: 'hello', installation: 'ins_1', space: 'sp_1' },
      ...own,
    });
    expect(environment).toMatchObject({ id: 'ins_1', space: 'sp_1', space_selection: 'all', ...own });
    expect(environment.integration.urls).toEqual(await integrationUrls(world));
    expect(environment.signingSecrets).toEqual({
      ...{ integration: expect.any(String), installation: 'whole', spaceInstallation: 'space' },
    });
    expect((await world.targets.get(space))?.signingSecrets).toEqual(['space']);
    for (const absent of ['site', 'siteInstallation']) expect(environment).not.toHaveProperty(absent);
  });

  test('of a site has the site, and its installation', async () => {
    const world = await World.open();
    const { installation, site } = await hello(world);
    const { environment } = await world.environment(site);
    const own = {
      ...{ status: 'active', externalIds: [] },
      urls: urlsOf(site, '/integrations/hello/installations/ins_1/sites/si_1'),
      configuration: { tag: 'x', oauth_credentials: { access_token: 'of the site' } },
    };
    expect(environment.installation).toEqual(installationOf(installation));
    expect(environment.siteInstallation).toEqual({
      ...{ integration: 'hello', installation: 'ins_1', site: 'si_1' },
      ...own,
    });
    expect(environment).toMatchObject({ id: 'ins_1', site: 'si_1', ...own });
    expect(environment.signingSecrets).toMatchObject({ installation: 'whole', siteInstallation: 'site' });
    expect((await world.targets.get(site))?.signingSecrets).toEqual(['site']);
    for (const absent of ['space', 'spaceInstallation']) expect(environment).not.toHaveProperty(absent);
  });

  // docs/contract/environment.md#members, row by row: the member, and its value for an endpoint of
  // a space.
  test.each<[string, (environment: Environment) => unknown]>([
    ['API: apiEndpoint', (environment) => environment.apiEndpoint],
    ['API: apiTokens', (environment) => environment.apiTokens],
    ['Integration: integration.urls.publicEndpoint', ({ integration }) => integration.urls.publicEndpoint],
    ['Site installation: space', (environment) => environment.space],
    ['Site installation: status', (environment) => environment.status],
    ['Site installation: configuration', (environment) => environment.configuration],
    ['Site installation: externalIds', (environment) => environment.externalIds],
    ['Site installation: urls', (environment) => environment.urls],
    ['Organization installation: id', (environment) => environment.id],
    ['Organization installation: space_selection', (environment) => environment.space_selection],
    ['Organization installation: configuration', ({ installation }) => installation?.configuration],
    ['Organization installation: urls', ({ installation }) => installation?.urls],
    ['Organization installation: externalIds', ({ installation }) => installation?.externalIds],
    ['Organization installation: target', (environment) => environment.target],
    ['Runtime secrets: secrets', (environment) => environment.secrets],
  ])('has the member: %s', async (_row, find) => {
    const world = await World.open();
    const { space } = await hello(world);
    expect(find((await world.environment(space)).environment)).toBeDefined();
  });

  test('a space target is paused with its installation, and runs in the same isolate', async () => {
    const world = await World.open();
    const { installation, space, site } = await hello(world);
    const targets = await Promise.all([installation, space, site].map((key) => world.targets.get(key)));
    expect(targets.map((target) => target?.status)).toEqual(['active', 'pending', 'active']);
    expect(new Set(targets.map((target) => target?.isolate)).size).toBe(1);
    await world.database
      .updateTable('targets')
      .set({ status: 'paused' })
      .where('level', '=', 'organization')
      .execute();
    world.targets.forgetInstallation('ins_1');
    for (const key of [installation, space, site])
      expect((await world.targets.get(key))?.status).toBe('paused');
  });

  test('an event names its target at each level', () => {
    expect(eventIds(at('organization'))).toEqual({ installationId: 'ins_1' });
    expect(eventIds(at('space', 'sp_1'))).toEqual({ installationId: 'ins_1', spaceId: 'sp_1' });
    expect(eventIds(at('site', 'si_1'))).toEqual({ installationId: 'ins_1', siteId: 'si_1' });
    expect(eventIds({ installationId: '', level: 'integration', place: '' })).toEqual({});
  });

  test('a property named as the prototype is a property', async () => {
    const world = await World.open();
    await world.publish('hello');
    const configuration = JSON.parse('{"__proto__": {"isAdmin": true}, "constructor": 1}') as object;
    const key = await world.put({
      ...at('organization'),
      ...OF,
      configuration: { ...configuration },
      credentials: {},
    });
    const { environment } = await world.environment(key);
    expect(Object.keys(environment.configuration ?? {}).sort()).toEqual([
      '__proto__',
      'constructor',
      'oauth_credentials',
    ]);
    expect('isAdmin' in (environment.configuration ?? {})).toBe(false);
  });
});

describe('of a deleted target', () => {
  const gone = async (world: World, name: TargetName) => {
    const row = async (wanted: TargetName) => {
      const found = await readTarget(world.database, wanted);
      if (found === undefined) throw new Error('There is no such row.');
      return found;
    };
    const snapshot = { target: await row(name), installation: await row(at('organization')) };
    await world.database.deleteFrom('targets').execute();
    return () => world.targets.deleted(snapshot);
  };

  test('its last call sees it as it was, without an installation token', async () => {
    const world = await World.open();
    await hello(world);
    const target = await (await gone(world, at('space', 'sp_1')))();
    expect(target?.environment).toMatchObject({
      ...{
        space: 'sp_1',
        configuration: { channel: 'general' },
        installation: { configuration: { color: 'red' } },
      },
    });
    expect(Object.keys(target?.environment.apiTokens ?? {})).toEqual(['integration']);
  });

  test('attack: republishing under the name of a deleted integration shows none of its data', async () => {
    const world = await World.open();
    await hello(world);
    const read = await gone(world, at('organization'));
    for (const table of ['versions', 'secrets', 'integrations'] as const)
      await world.database.deleteFrom(table).execute();
    expect(await read()).toBeUndefined();
    CLOCK.now += 1;
    await world.publish('hello');
    expect(await read()).toBeUndefined();
  });
});

describe('with many other targets', () => {
  const seeds = Array.from({ length: WORLDS }, (_, index) => index);

  test.each(seeds)('no target sees a value of another: world %i', async (seed) => {
    const world = await World.open();
    const planted = await plant(world, new Chance(seed));
    const all = new Set(planted.flatMap(({ sees }) => sees));
    const integrationSecrets = new Map<string, string>();
    for (const { key, integration, sees } of planted) {
      const { environment, text } = await world.environment(key);
      for (const value of sees) expect(text, `${key} lacks ${value}`).toContain(value);
      for (const value of all)
        if (!sees.includes(value)) expect(text, `leaked ${value}`).not.toContain(value);
      integrationSecrets.set(integration, environment.signingSecrets.integration);
      for (const [name, secret] of integrationSecrets)
        if (name !== integration) expect(text).not.toContain(secret);
      for (const other of planted)
        if (other.key !== key && !(other.isWhole && sees.includes(other.own[0] ?? '')))
          expect(text, 'leaked an endpoint').not.toContain(other.key);
    }
  });
});

interface Planted {
  readonly key: string;
  readonly integration: string;
  readonly isWhole: boolean;
  /** Values of the target itself, its integration's secrets among them. */
  readonly own: readonly string[];
  /** Values that its environment must have. */
  readonly sees: readonly string[];
}

/** Integrations in organizations, spaces and sites; all their values are distinct. */
async function plant(world: World, random: Chance): Promise<Planted[]> {
  let count = 0;
  const value = () => {
    count += 1;
    return `planted-${count}-${random.below(1e9)}-end`;
  };
  const planted: Planted[] = [];
  const organizations = ['org-a', 'org-b', 'org-c'].slice(0, 1 + random.below(3));
  for (const integration of ['one', 'two', 'three'].slice(0, 1 + random.below(3))) {
    const secrets = Object.fromEntries(['A', 'B'].slice(0, random.below(3)).map((name) => [name, value()]));
    await world.publish(integration, secrets);
    for (const organization of organizations) {
      const installationId = `ins_${integration}_${organization}`;
      const put = async (level: Level, place: string, above: readonly string[]) => {
        const [configuration, credentials, externalId, secret] = [value(), value(), value(), value()];
        const own = [configuration, externalId, ...(random.once(2) ? [credentials] : [])];
        const key = await world.put({
          ...{ ...at(level, place, installationId), integration, organization, signingSecret: secret },
          ...{ configuration: { setting: configuration }, externalIds: [externalId] },
          ...(own.includes(credentials) && { credentials: { access_token: credentials } }),
        });
        const sees = [...Object.values(secrets), ...above, ...own, secret];
        planted.push({
          key,
          integration,
          isWhole: level === 'organization',
          own: [...own, secret],
          sees,
        });
        return [...own, secret];
      };
      const whole = await put('organization', '', []);
      // Places of the same name in other organizations, and as space and site.
      for (const place of ['p1', 'p2', 'p3'].slice(0, random.below(4))) {
        if (!random.once(3)) await put('space', place, whole);
        if (!random.once(3)) await put('site', place, whole);
      }
    }
  }
  return planted;
}
