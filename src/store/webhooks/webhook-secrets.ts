/**
 * What webhooks are signed with (REFERENCE D24): a secret of its own for each target, made when it is first needed, shown to
 * whoever asks for it, and replaced at once or with an overlap in which both sign.
 *
 * Sealed at rest. `signing` is asked at each attempt of each webhook, so secrets that are in use are kept open in memory, a
 * bounded number of them. They are dropped after the commit that changes them and before that commit is answered: what is
 * signed after a rotation was answered is signed with the new one. Who may see one is decided at the doors.
 */
import { LRUCache } from 'lru-cache';
import type { GroupCommit } from '../../database/group-commit.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import type { Actor } from '../../model/actor.ts';
import { type RandomBytes, signingSecret } from '../../model/identifiers.ts';
import type { TargetName } from '../../model/installation.ts';
import { isRuntime } from '../../model/principal.ts';
import { unknownTarget } from '../../model/unknown.ts';
import { type AuditEntry, insertAudit } from '../audit-rows.ts';
import { holdInstallation, readTarget, type SealedInstallation } from '../installations/target-rows.ts';
import type { Vault } from '../vault/vault.ts';
import {
  insertWebhookSecret,
  readWebhookSecret,
  type WebhookSecret,
  writeWebhookSecret,
} from './webhook-secret-rows.ts';

/** Secrets that are kept open, of all installations together. */
const SECRETS_CACHED = 20_000;

/** Installations whose code has been shown secrets, and how many of each are remembered. */
const SHOWN_TO_MAX = 2_000;
const SHOWN_MAX = 8;

/** How long both secrets may sign. */
export const OVERLAP_SECONDS_MIN = 60;
export const OVERLAP_SECONDS_MAX = 7 * 24 * 60 * 60;

const NONE: readonly string[] = [];

/** What a secret of one's own may be: printable ASCII without a space, so that none is lost in copying it. */
export const OWN_SECRET_CHARS_MIN = 24;
export const OWN_SECRET_CHARS_MAX = 256;
export const OWN_SECRET = /^[\x21-\x7e]*$/;

export interface WebhookSecretsParts {
  readonly database: Database;
  readonly vault: Vault;
  /** Targets that need their first secret at once share commits. */
  readonly commits: GroupCommit;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

/** How a secret is replaced. */
export interface Rotation {
  /** One of the caller's own; made here unless given. */
  readonly secret?: string | undefined;
  /** How long the one before goes on signing, too; not at all unless given. */
  readonly overlapMs?: number | undefined;
}

/** A secret that is kept open, with the answers of `signing`. */
interface Kept {
  readonly alone: readonly [string];
  readonly both?: { readonly secrets: readonly [string, string]; readonly until: number };
}

export class WebhookSecrets {
  readonly #parts: WebhookSecretsParts;
  /** By installation, then by what of it a target is: all of an installation can be dropped without a look at the others. */
  readonly #kept = new LRUCache<string, ReadonlyMap<string, Kept>>({
    max: SECRETS_CACHED,
    maxSize: SECRETS_CACHED,
    sizeCalculation: ({ size }) => size,
  });
  /** What code of an installation was shown, the latest last; another list after each. Isolates do not outlive this process. */
  readonly #shown = new LRUCache<string, readonly string[]>({ max: SHOWN_TO_MAX });
  /** Look-ups under way, shared by all who ask meanwhile. */
  readonly #reading = new Map<string, Promise<Kept>>();

  constructor(parts: WebhookSecretsParts) {
    this.#parts = parts;
  }

  /**
   * The secrets to sign with, the newest first: two while an older one goes on, else one. Made where there is none yet.
   *
   * @throws `INSTALLATION_UNKNOWN` where there is no such target
   */
  async signing(name: TargetName): Promise<readonly string[]> {
    const kept = this.#keptFor(name) ?? (await this.#read(name));
    const { alone, both } = kept;
    return both !== undefined && this.#parts.clock() < both.until ? both.secrets : alone;
  }

  /** Shows the secret, made where there is none yet, and notes that it was shown. @throws `INSTALLATION_UNKNOWN` */
  reveal(name: TargetName, by: Actor): Promise<WebhookSecret> {
    return this.#change(name, by, async (transaction, now) => {
      const { vault } = this.#parts;
      await insertWebhookSecret(transaction, vault, name, { secret: this.#fresh(), createdAt: now });
      const secret = await readWebhookSecret(transaction, vault, name, now);
      if (secret === undefined) throw unknownTarget(name);
      return { secret, entry: { action: 'webhook.reveal' } };
    });
  }

  /**
   * Replaces the secret. The one before signs for `overlapMs` more, in place of any that went on signing until now.
   *
   * @throws `INSTALLATION_UNKNOWN`
   */
  rotate(name: TargetName, { secret: own, overlapMs = 0 }: Rotation, by: Actor): Promise<WebhookSecret> {
    return this.#change(name, by, async (transaction, now) => {
      const { vault } = this.#parts;
      const before = await readWebhookSecret(transaction, vault, name, now);
      const fresh = own ?? this.#fresh();
      // The same again is no other secret that could sign beside it.
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
   * Secrets that code of an installation has been shown: no log of it should hold them. The same list until there is one more.
   */
  shownTo(installationId: string): readonly string[] {
    return this.#shown.get(installationId) ?? NONE;
  }

  /** Has what is signed from now on see what has become of an installation. Called after a commit, before its answer. */
  forgetInstallation(installationId: string): void {
    // A look-up under way may be from before the change.
    this.#reading.clear();
    this.#kept.delete(installationId);
  }

  #showTo(installationId: string, secret: string): void {
    const shown = this.shownTo(installationId);
    if (!shown.includes(secret)) this.#shown.set(installationId, [...shown, secret].slice(-SHOWN_MAX));
  }

  #keptFor({ installationId, level, place }: TargetName): Kept | undefined {
    return this.#kept.get(installationId)?.get(`${level} ${place}`);
  }

  #keep({ installationId, level, place }: TargetName, kept: Kept): void {
    const others = this.#kept.get(installationId) ?? [];
    this.#kept.set(installationId, new Map([...others, [`${level} ${place}`, kept]]));
  }

  async #read(name: TargetName): Promise<Kept> {
    const key = `${name.installationId} ${name.level} ${name.place}`;
    const known = this.#reading.get(key);
    if (known !== undefined) return known;
    const reading = this.#readOrMake(name);
    this.#reading.set(key, reading);
    try {
      const kept = await reading;
      if (this.#reading.get(key) === reading) this.#keep(name, kept);
      return kept;
    } finally {
      if (this.#reading.get(key) === reading) this.#reading.delete(key);
    }
  }

  async #readOrMake(name: TargetName): Promise<Kept> {
    const { database, vault, commits, clock } = this.#parts;
    const now = clock();
    const found = await readWebhookSecret(database, vault, name, now);
    if (found !== undefined) return keptOf(found);
    const made = await commits.run(async (transaction) => {
      await insertWebhookSecret(transaction, vault, name, { secret: this.#fresh(), createdAt: now });
      return readWebhookSecret(transaction, vault, name, now);
    });
    if (made === undefined) throw unknownTarget(name);
    return keptOf(made);
  }

  /** One transaction with its row in the audit, while nobody else changes anything of the installation. */
  async #change(
    name: TargetName,
    by: Actor,
    work: (
      transaction: Database,
      now: number,
    ) => Promise<{ secret: WebhookSecret; entry: Pick<AuditEntry, 'action' | 'details'> }>,
  ): Promise<WebhookSecret> {
    const { database, clock, auditIds } = this.#parts;
    const secret = await database.transaction().execute(async (transaction) => {
      const now = clock();
      const target = await hold(transaction, name);
      const { secret, entry } = await work(transaction, now);
      const { installationId, level, place, organization, integration } = target;
      const about = { organization, integration, target: { installationId, level, place } };
      const id = auditIds.next(now);
      await insertAudit(transaction, { id, at: now, by, entry: { ...entry, ...about } });
      return secret;
    });
    this.forgetInstallation(name.installationId);
    if (isRuntime(by.principal)) this.#showTo(name.installationId, secret.secret);
    return secret;
  }

  #fresh(): string {
    return signingSecret(this.#parts.randomBytes);
  }
}

/** @throws `INSTALLATION_UNKNOWN` */
async function hold(transaction: Database, name: TargetName): Promise<SealedInstallation> {
  const held = await holdInstallation(transaction, name.installationId);
  const target = held && (await readTarget(transaction, name));
  if (!target) throw unknownTarget(name);
  return target;
}

const keptOf = ({ secret, previous }: WebhookSecret): Kept => ({
  alone: [secret],
  ...(previous && { both: { secrets: [secret, previous.secret], until: previous.until } }),
});
