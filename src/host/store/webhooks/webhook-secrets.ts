/**
 * Webhook secrets (docs/contract/webhooks.md#secret): one for each target, made at first use,
 * revealed on request, and rotated at once or with an overlap in which both secrets sign. Beside it
 * are the own headers of the webhook, which are written and sent, and never shown.
 *
 * Sealed at rest. `posting` runs for each attempt of each webhook, so a bounded number of opened
 * secrets is cached. A change invalidates them after its commit and before its answer: requests
 * signed after the answer to a rotation carry the new secret. The control listener's routes
 * authorize callers.
 */
import { LRUCache } from 'lru-cache';
import type { Actor } from '../../../model/actor.ts';
import { entryCache } from '../../../model/entry-cache.ts';
import { type RandomBytes, signingSecret } from '../../../model/identifiers.ts';
import type { TargetName } from '../../../model/installation.ts';
import { type OwnHeaders, type SentHeaders, secretsOfHeaders } from '../../../model/own-headers.ts';
import { isRuntime } from '../../../model/principal.ts';
import { Redactor } from '../../../model/redaction.ts';
import { standardSecret } from '../../../model/signature.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { GroupCommit } from '../../database/group-commit.ts';
import { announce } from '../../database/notices.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { type AuditEntry, insertAudit } from '../audit-rows.ts';
import { holdInstallation, readTarget, type SealedInstallation } from '../installations/target-rows.ts';
import type { Vault } from '../vault/vault.ts';
import {
  insertWebhookSecret,
  openedHeaders,
  readWebhookSecret,
  takeTurn,
  type WebhookSecret,
  writeOwnHeaders,
  writeWebhookSecret,
} from './webhook-secret-rows.ts';

/** Opened secrets in the cache, of all installations together; headers count as their size. */
const SECRETS_CACHED = 20_000;
const BYTES_PER_SECRET = 256;

/**
 * Installations to whose code secrets were revealed, and the number of secrets remembered for each.
 */
const SHOWN_TO_MAX = 2_000;
const SHOWN_MAX = 8;

/** Bounds of the overlap of a rotation. */
export const OVERLAP_SECONDS_MIN = 60;
export const OVERLAP_SECONDS_MAX = 7 * 24 * 60 * 60;

const NONE: readonly string[] = [];

/** Form of a secret given by the caller: printable ASCII without spaces, which survives copying. */
export const OWN_SECRET_CHARS_MIN = 24;
export const OWN_SECRET_CHARS_MAX = 256;
export const OWN_SECRET = /^[\x21-\x7e]*$/;

export interface WebhookSecretsDeps {
  readonly database: Database;
  readonly vault: Vault;
  /** Targets that need their first secret at the same time share commits. */
  readonly commits: GroupCommit;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

/** Options of a rotation. */
export interface Rotation {
  /** A secret given by the caller; generated if absent. */
  readonly secret?: string | undefined;
  /** How long the previous secret continues to sign; 0 if absent. */
  readonly overlapMs?: number | undefined;
}

interface GuardedHeaders extends SentHeaders {
  /** Takes their values out of what a receiver answers. */
  readonly redactor: Pick<Redactor, 'redact' | 'bytes'>;
}

/** What the requests of a webhook carry. */
export interface PostingSecrets {
  /** As `signing` returns them. */
  readonly secrets: readonly string[];
  readonly own?: GuardedHeaders | undefined;
}

/** The opened secrets of a target, as `posting` returns them. */
interface Opened {
  readonly own?: GuardedHeaders;
  readonly alone: readonly [string];
  readonly both?: { readonly secrets: readonly [string, string]; readonly until: number };
}

interface Changed {
  readonly entry: Pick<AuditEntry, 'action' | 'details'>;
}

export class WebhookSecrets {
  readonly #deps: WebhookSecretsDeps;
  /**
   * By installation, then by level and place, so that all entries of an installation are dropped at
   * once.
   */
  readonly #opened = new LRUCache<string, ReadonlyMap<string, Opened>>({
    maxSize: SECRETS_CACHED,
    sizeCalculation: sizeOf,
  });
  /**
   * Secrets revealed to an installation's code, the latest last. In memory, because isolates do not
   * outlive this process.
   */
  readonly #shown = entryCache<readonly string[]>(SHOWN_TO_MAX);
  /** Reads in flight, shared by concurrent callers. */
  readonly #reading = new Map<string, Promise<Opened>>();

  constructor(deps: WebhookSecretsDeps) {
    this.#deps = deps;
  }

  /**
   * The secrets that sign, the newest first: two during an overlap, else one. Makes the first
   * secret if there is none.
   *
   * @throws `INSTALLATION_UNKNOWN` if there is no such target
   */
  async signing(name: TargetName): Promise<readonly string[]> {
    return (await this.posting(name)).secrets;
  }

  /** `signing`, with the own headers of the webhook. */
  async posting(name: TargetName): Promise<PostingSecrets> {
    const { alone, both, own } = this.#openedOf(name) ?? (await this.#read(name));
    return { secrets: both !== undefined && this.#deps.wallNow() < both.until ? both.secrets : alone, own };
  }

  /**
   * Takes the next turn of a webhook that may send a request in each interval. The nodes of a
   * database take them from one row, so the rate is that of all of them together.
   *
   * @returns when its request may be sent, in milliseconds since 1970
   * @throws `INSTALLATION_UNKNOWN`
   */
  async takeTurn(name: TargetName, intervalMs: number): Promise<number> {
    // Makes the row.
    await this.signing(name);
    const now = this.#deps.wallNow();
    return this.#deps.commits.run((transaction) => takeTurn(transaction, name, { now, intervalMs }));
  }

  /** The names of the own headers, and the URL to whose origin they are sent. */
  async headers(
    name: TargetName,
  ): Promise<(Pick<OwnHeaders, 'url'> & { readonly names: string[] }) | undefined> {
    const { database, vault, wallNow } = this.#deps;
    const sealed = (await readWebhookSecret(database, vault, name, { now: wallNow() }))?.sealedHeaders;
    if (sealed === undefined) return undefined;
    const { headers, url } = openedHeaders(vault, name, sealed);
    return { url, names: headers.map(({ name }) => name.toLowerCase()) };
  }

  /**
   * Replaces the own headers.
   *
   * @param set undefined for none
   * @throws `INSTALLATION_UNKNOWN`
   */
  async setHeaders(name: TargetName, set: OwnHeaders | undefined, by: Actor): Promise<void> {
    const { vault } = this.#deps;
    await this.#change(name, by, async (transaction, now) => {
      await insertWebhookSecret(transaction, vault, name, { secret: this.#fresh(), createdAt: now });
      await writeOwnHeaders(transaction, vault, name, set ?? null);
      const names = set?.headers.map(({ name }) => name) ?? [];
      return { entry: { action: 'webhook.headers', details: { names } } };
    });
  }

  /**
   * Returns the secret, with an audit entry; makes it if there is none. @throws
   * `INSTALLATION_UNKNOWN`
   */
  reveal(name: TargetName, by: Actor): Promise<WebhookSecret> {
    return this.#changeSecret(name, by, async (transaction, now) => {
      const { vault } = this.#deps;
      await insertWebhookSecret(transaction, vault, name, { secret: this.#fresh(), createdAt: now });
      const secret = await readWebhookSecret(transaction, vault, name, { now });
      if (secret === undefined) throw unknownTarget(name);
      return { secret, entry: { action: 'webhook.reveal' } };
    });
  }

  /**
   * Replaces the secret. The previous one signs for `overlapMs` more; an older one stops at once.
   *
   * @throws `INSTALLATION_UNKNOWN`
   */
  rotate(name: TargetName, { secret: own, overlapMs = 0 }: Rotation, by: Actor): Promise<WebhookSecret> {
    return this.#changeSecret(name, by, async (transaction, now) => {
      const { vault } = this.#deps;
      const before = await readWebhookSecret(transaction, vault, name, { now, use: 'toReplace' });
      const fresh = own ?? this.#fresh();
      // Rotating to the same secret leaves only one.
      const goesOn = before !== undefined && before.secret !== fresh && overlapMs > 0;
      const secret: WebhookSecret = {
        secret: fresh,
        createdAt: now,
        ...(goesOn && { previous: { secret: before.secret, until: now + overlapMs } }),
      };
      await writeWebhookSecret(transaction, vault, name, secret);
      const details = { own: own !== undefined, ...(goesOn && { overlapSeconds: overlapMs / 1_000 }) };
      return { secret, entry: { action: 'webhook.rotate', details } };
    });
  }

  /**
   * Secrets revealed to an installation's code, for redaction of its logs. The same array until
   * another secret is revealed.
   */
  shownTo(installationId: string): readonly string[] {
    return this.#shown.get(installationId) ?? NONE;
  }

  /**
   * Invalidates the secrets of an installation. Called after the commit of a change, before its
   * answer.
   */
  forgetInstallation(installationId: string): void {
    // A read in flight may have seen the state before the change.
    this.#reading.clear();
    this.#opened.delete(installationId);
  }

  /** Invalidates all secrets. */
  forget(): void {
    this.#reading.clear();
    this.#opened.clear();
  }

  #showTo(installationId: string, secret: string): void {
    const shown = this.shownTo(installationId);
    if (shown.includes(secret)) return;
    // In both of its forms: what code writes of either is redacted.
    this.#shown.set(installationId, [...shown, secret, standardSecret(secret)].slice(-2 * SHOWN_MAX));
  }

  #openedOf({ installationId, level, place }: TargetName): Opened | undefined {
    return this.#opened.get(installationId)?.get(`${level} ${place}`);
  }

  #cache({ installationId, level, place }: TargetName, opened: Opened): void {
    const others = this.#opened.get(installationId) ?? [];
    this.#opened.set(installationId, new Map([...others, [`${level} ${place}`, opened]]));
  }

  async #read(name: TargetName): Promise<Opened> {
    const key = `${name.installationId} ${name.level} ${name.place}`;
    const known = this.#reading.get(key);
    if (known !== undefined) return known;
    const reading = this.#readOrMake(name);
    this.#reading.set(key, reading);
    try {
      const opened = await reading;
      if (this.#reading.get(key) === reading) this.#cache(name, opened);
      return opened;
    } finally {
      if (this.#reading.get(key) === reading) this.#reading.delete(key);
    }
  }

  async #readOrMake(name: TargetName): Promise<Opened> {
    const { database, vault, commits, wallNow } = this.#deps;
    const now = wallNow();
    const found = await readWebhookSecret(database, vault, name, { now });
    if (found !== undefined) return openedOf(vault, name, found);
    const made = await commits.run(async (transaction) => {
      await insertWebhookSecret(transaction, vault, name, { secret: this.#fresh(), createdAt: now });
      return readWebhookSecret(transaction, vault, name, { now });
    });
    if (made === undefined) throw unknownTarget(name);
    return openedOf(vault, name, made);
  }

  async #changeSecret(
    name: TargetName,
    by: Actor,
    work: (transaction: Database, now: number) => Promise<Changed & { readonly secret: WebhookSecret }>,
  ): Promise<WebhookSecret> {
    const { secret } = await this.#change(name, by, work);
    if (isRuntime(by.principal)) this.#showTo(name.installationId, secret.secret);
    return secret;
  }

  /** Runs `work` and writes its audit entry in one transaction that locks the installation. */
  async #change<Result extends Changed>(
    name: TargetName,
    by: Actor,
    work: (transaction: Database, now: number) => Promise<Result>,
  ): Promise<Result> {
    const { database, wallNow, auditIds } = this.#deps;
    const changed = await inTransaction(database, async (transaction) => {
      const now = wallNow();
      const target = await hold(transaction, name);
      const result = await work(transaction, now);
      const { entry } = result;
      const { installationId, level, place, organization, integration } = target;
      const about = { organization, integration, target: { installationId, level, place } };
      const id = auditIds.next(now);
      await insertAudit(transaction, { id, at: now, by, entry: { ...entry, ...about } });
      await announce(transaction, 'webhookSecrets', installationId);
      return result;
    });
    this.forgetInstallation(name.installationId);
    return changed;
  }

  #fresh(): string {
    return signingSecret(this.#deps.randomBytes);
  }
}

/** Locks the installation and reads the target. @throws `INSTALLATION_UNKNOWN` */
async function hold(transaction: Database, name: TargetName): Promise<SealedInstallation> {
  const held = await holdInstallation(transaction, name.installationId);
  const target = held && (await readTarget(transaction, name));
  if (!target) throw unknownTarget(name);
  return target;
}

const openedOf = (
  vault: Pick<Vault, 'open'>,
  name: TargetName,
  { secret, previous, sealedHeaders }: WebhookSecret,
): Opened => ({
  alone: [secret],
  ...(previous && { both: { secrets: [secret, previous.secret], until: previous.until } }),
  ...(sealedHeaders !== undefined && { own: guarded(openedHeaders(vault, name, sealedHeaders)) }),
});

const guarded = ({ headers, url }: OwnHeaders): GuardedHeaders => ({
  headers: Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value])),
  url,
  redactor: new Redactor(secretsOfHeaders(headers)),
});

/** How many secrets the opened ones of an installation count as. */
function sizeOf(opened: ReadonlyMap<string, Opened>): number {
  let size = 0;
  for (const { own } of opened.values()) size += 1 + Math.ceil((own?.redactor.bytes ?? 0) / BYTES_PER_SECRET);
  return size;
}
