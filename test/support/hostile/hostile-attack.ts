/**
 * One folder of `fixtures/hostile/`: what the attacker sends, what it wants, and the answer that it
 * is to get.
 *
 * A folder has an `attack.yaml` and one of three kinds of attacker: an integration (all other files
 * of the folder), an `upload.js` that makes the parts of a publish that no folder can hold, or a
 * `cell.js` that replaces the script of a cell.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { uploadFolder } from '../../../src/local/demo/folder-form-data.ts';
import type { Outcome } from '../../../src/protocol/wire.ts';

const FOLDER = fileURLToPath(new URL('../../../fixtures/hostile/', import.meta.url));

export const CATEGORIES = ['cpu', 'memory', 'escape', 'network', 'boundary', 'publishing', 'cell'] as const;

/** The expected result of an attack; every member that is present must hold. */
export interface Answer {
  readonly status?: number;
  /** The call ended with this outcome and was answered with its error. */
  readonly outcome?: Outcome;
  /** Code of the error. */
  readonly code?: string;
  /** The whole body. */
  readonly body?: string;
  /** A part of the body. */
  readonly contains?: string;
  /** Texts that no header of the answer holds, in any case. */
  readonly 'headers without'?: readonly string[];
  /** The body breaks off before its end. */
  readonly 'breaks off'?: boolean;
  /** Publishing is refused, with a problem that contains this. */
  readonly problem?: string;
  /** The host ends the cell for a reason that contains this. */
  readonly 'cell ended for'?: string;
}

export interface AttackRequest {
  readonly method?: string;
  /** Below the endpoint, with its slash. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How often it is sent, one after the other. */
  readonly times?: number;
  /** How many are sent together. */
  readonly 'at once'?: number;
  /** The sender disconnects so many milliseconds after its request, before an answer. */
  readonly 'leaves after'?: number;
}

/** A row of `docs/attacks.md`. */
export interface AttackRow {
  readonly attack: string;
  readonly 'stopped by': string;
  /** Names of test files. */
  readonly 'shown by'?: readonly string[];
}

/** The row of several attacks that one defence stops, and the section that it is in. */
export interface AttackKind extends AttackRow {
  readonly section: string;
}

/** What `attacks.yaml` has: the head of the page, its sections, and rows that no folder has. */
export interface AttacksPage {
  readonly head: string;
  readonly sections: readonly {
    readonly title: string;
    readonly intro?: string;
    readonly rows?: readonly AttackRow[];
  }[];
}

export interface Attack {
  readonly name: string;
  readonly title: string;
  readonly category: (typeof CATEGORIES)[number];
  /** The attacker's aim, in a sentence. */
  readonly wants: string;
  /** The defences that stop it, in the order in which the attack meets them. */
  readonly 'stopped by': readonly string[];
  /** Its row in `docs/attacks.md`, or the name of the attack whose row has it, too. */
  readonly kind: AttackKind | string;
  /** Any one of these; several where the machine decides which limit is passed first. */
  readonly answers: readonly Answer[];
  /** Texts that the installation's log contains afterwards. */
  readonly log: readonly string[];
  /** Texts that the log must not contain. */
  readonly 'log without': readonly string[];
  /** Whether its cell may die. */
  readonly cell: 'kept' | 'may be lost';
  readonly request: AttackRequest;
  /**
   * Wall time of the call of a cell that has been taken over. Without it, so long that the attack
   * meets another defence first, on a busy machine too.
   */
  readonly 'wall ms': number;
  /**
   * Installations of the attacker, each of which gets the request; more than one to find what they
   * share.
   */
  readonly installations: number;
}

const MEMBERS = [
  'title',
  'category',
  'wants',
  'stopped by',
  'kind',
  'answer',
  'answers',
  'log',
  'log without',
  'cell',
];
const OPTIONAL = ['request', 'installations', 'wall ms'];

/** All attacks, ordered by name. */
export function readAttacks(): Attack[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => readAttack(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

export const readAttacksPage = (): AttacksPage =>
  parse(readFileSync(join(FOLDER, 'attacks.yaml'), 'utf8')) as AttacksPage;

function readAttack(name: string): Attack {
  const read = parse(readFileSync(join(FOLDER, name, 'attack.yaml'), 'utf8')) as Record<string, unknown>;
  const unknown = Object.keys(read).filter((key) => ![...MEMBERS, ...OPTIONAL].includes(key));
  if (unknown.length > 0) throw new Error(`${name}/attack.yaml has unknown members: ${unknown.join(', ')}`);
  const { answer, answers, ...rest } = read;
  const attack = {
    log: [],
    'log without': [],
    cell: 'kept',
    request: {},
    installations: 1,
    'wall ms': 60_000,
    ...rest,
    answers: answers ?? [answer],
    name,
  } as unknown as Attack;
  const isWhole =
    CATEGORIES.includes(attack.category) &&
    name.startsWith(`${attack.category}-`) &&
    [attack.title, attack.wants].every((text) => typeof text === 'string' && text !== '') &&
    attack['stopped by'].length > 0 &&
    attack.kind !== undefined &&
    attack.answers.every((one) => typeof one === 'object' && one !== null && Object.keys(one).length > 0);
  if (!isWhole) throw new Error(`${name}/attack.yaml lacks a member, or is in the wrong category`);
  return attack;
}

/** The code of a cell that has been taken over; undefined for attacks of another kind. */
export function cellCode({ name }: Attack): string | undefined {
  const path = join(FOLDER, name, 'cell.js');
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

type Part = [name: string, content: string | Uint8Array<ArrayBuffer>, filename?: string];

/** The upload: the folder itself, or the parts that its `upload.js` makes. */
export async function uploadOf({ name }: Attack): Promise<FormData> {
  const generator = join(FOLDER, name, 'upload.js');
  const form = new FormData();
  if (existsSync(generator)) {
    const { default: parts } = (await import(pathToFileURL(generator).href)) as {
      default: () => Promise<Part[]> | Part[];
    };
    for (const [part, content, filename] of await parts()) {
      form.append(part, new Blob([content]), filename ?? part);
    }
  } else {
    const whole = await uploadFolder(join(FOLDER, name));
    for (const [part, value] of whole) {
      if (value instanceof File && value.name !== 'attack.yaml') form.append(part, value, value.name);
    }
  }
  if (!form.has('manifest')) form.append('manifest', manifestFor(name, form));
  return form;
}

function manifestFor(name: string, form: FormData): string {
  const files = form.getAll('files').flatMap((value) => (value instanceof File ? [value.name] : []));
  const script = files.find((file) => /^index\.[jt]sx?$/.test(file)) ?? 'index.js';
  return `name: ${name}
title: ${name}
description: An attack of the corpus.
organization: mallory
visibility: public
scopes: []
script: ${script}
`;
}
