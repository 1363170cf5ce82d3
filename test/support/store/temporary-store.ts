/**
 * A real store in its own folder, removed after the test; the clock stands still until the test
 * moves it.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openStore, type Store, type StoreOptions } from '../../../src/host/store/store.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import type { Actor } from '../../../src/model/actor.ts';
import {
  type ParsedManifest,
  type PublishedManifest,
  parseManifest,
  publishedManifest,
} from '../../../src/model/manifest/manifest.ts';
import { putEmptyDatabase } from './empty-database.ts';
import { dropDatabase, testEngine } from './test-engine.ts';

export const ORIGINS = {
  publicUrl: 'https://apps.example.com',
  contentUrl: 'https://content.example.net',
  apiEndpoint: 'https://api.example.com',
  apiUrl: 'https://api.example.com/v1',
  appUrl: 'https://app.example.com',
};

/** A clock that a test moves by assigning `now`. */
export const CLOCK = { now: Date.UTC(2026, 0, 1) };

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';

/** Folder for temporary files of tests that do not need the disk: in memory if possible. */
export const memory = (): string => (existsSync(MEMORY) ? MEMORY : tmpdir());

/**
 * A folder for one test. @param inMemory for tests that commit thousands of times and do not need
 * the disk
 */
export async function temporaryFolder({ inMemory = false } = {}): Promise<string> {
  const folder = await mkdtemp(join(inMemory ? memory() : tmpdir(), 'annex-test-'));
  onTestFinished(async () => {
    await dropDatabase(folder);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

export function storeOptions(folder: string, limits: Partial<Limits> = {}): StoreOptions {
  return {
    folder,
    makeEngine: testEngine(folder),
    limits: { ...DEFAULT_LIMITS, ...limits },
    wallNow: () => CLOCK.now,
    monotonicNow: () => performance.now(),
    randomBytes,
    onError(error) {
      throw error;
    },
  };
}

const nothingStored = () => Promise.reject(new Error('Nothing is stored here.'));
/** For calls that use no storage. */
export const NO_STORAGE = { get: nothingStored, change: nothingStored, list: nothingStored };

/** The operator, as an external caller. */
export const OPERATOR: Actor = {
  principal: { kind: 'admin', tokenId: 'tok_operator' },
  requestId: 'req-test',
  address: '127.0.0.1',
  depth: 0,
};

/** Opens a store, which is closed after the test. */
export async function temporaryStore(limits: Partial<Limits> = {}): Promise<Store> {
  const folder = await temporaryFolder();
  await putEmptyDatabase(folder);
  const store = await openStore(storeOptions(folder, limits));
  onTestFinished(() => store.close());
  return store;
}

const MINIMAL = { name: 'hello', organization: 'acme', visibility: 'public' };

/** Text of a valid manifest; `more` is appended. */
export function manifestYaml(fields: Partial<typeof MINIMAL> = {}, more = ''): string {
  const { name, organization, visibility } = { ...MINIMAL, ...fields };
  return [
    `name: ${name}`,
    `title: ${name} title`,
    'description: An example.',
    `organization: ${organization}`,
    `visibility: ${visibility}`,
    'scopes: []',
    more,
  ].join('\n');
}

/** Parses a manifest that is valid. */
export function parsed(yaml: string): Extract<ParsedManifest, { ok: true }> {
  const result = parseManifest(yaml);
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join(' '));
  return result;
}

export const published = (fields: Partial<typeof MINIMAL> = {}, more = ''): PublishedManifest =>
  publishedManifest(parsed(manifestYaml(fields, more)).manifest);
