/**
 * Finds out, once at start, which layers of `layers.ts` hold on this machine: by starting the program behind them. A tool that is there says little; kernels, containers and security modules forbid what they like.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type ConfinedProgram,
  type Confinement,
  confinedCommand,
  describeLayers,
  FALLIBLE_LAYERS,
  type FallibleLayer,
  type HardeningSettings,
  type LayerPlan,
  type Layers,
  type Machine,
  planLayers,
  TOOLS,
  UNCONFINED,
  weakerNamespaces,
} from './layers.ts';

/** Where systems keep their tools. Not the PATH: these start as root. */
const TOOL_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const SELF_TEST_MS = 20_000;
const SELF_TEST_INFO_FD = 3;
const SAID_CHARS_MAX = 4_096;
const REASON_CHARS_MAX = 200;

/** @returns what went wrong; undefined where the program ran */
export type SelfTest = (confinement: Confinement) => Promise<string | undefined>;

export interface Settled {
  readonly confinement: Confinement;
  readonly layers: Layers;
}

/**
 * @param what the processes are, for messages
 * @param rehearsal the program that shows whether all it needs can be reached from behind these layers
 * @throws an Error that says what is missing where bubblewrap is required and does not work
 */
export async function confine(
  what: 'cells' | 'bundlers',
  settings: HardeningSettings,
  rehearsal: (confinement: Confinement) => ConfinedProgram,
): Promise<Settled> {
  const settled = await settleLayers(settings, lookAtMachine(), (confinement) =>
    tryProgram(confinement, rehearsal(confinement)),
  );
  const { namespaces } = settled.confinement;
  if (settings.sandbox === 'required' && namespaces?.kind !== 'bubblewrap') {
    throw new Error(
      `--cell-sandbox is "required", but ${what} cannot be started in bubblewrap: ${settled.layers.namespaces.detail}. ` +
        'It takes the package bubblewrap, and a system that lets this user make user namespaces; "auto" does without where it has to.',
    );
  }
  return settled;
}

/** Everything at once where that works, which it mostly does; else layer by layer, to know which is at fault. */
export async function settleLayers(
  settings: HardeningSettings,
  machine: Machine,
  trial: SelfTest,
): Promise<Settled> {
  const plan = planLayers(settings, machine);
  if ((await trial(plan.wanted)) === undefined) return settle(plan.wanted, plan.off);
  return layerByLayer(plan, machine, trial);
}

async function layerByLayer({ wanted, off }: LayerPlan, machine: Machine, trial: SelfTest): Promise<Settled> {
  const reasons: Partial<Record<FallibleLayer, string>> = { ...off };
  let held: Confinement = { ...UNCONFINED, jitless: wanted.jitless };
  for (const layer of FALLIBLE_LAYERS) {
    for (const next of withLayer(held, wanted, layer, machine)) {
      const problem = await trial(next);
      if (problem === undefined) {
        held = next;
        delete reasons[layer];
        break;
      }
      // The best kind's reason is the one to mend.
      reasons[layer] ??= problem;
    }
  }
  return settle(held, reasons);
}

/** The layers that hold and one more, in each of its kinds, best first. */
function withLayer(
  held: Confinement,
  wanted: Confinement,
  layer: FallibleLayer,
  machine: Machine,
): Confinement[] {
  const { namespaces } = wanted;
  if (layer === 'namespaces' && namespaces !== undefined) {
    return [namespaces, ...weakerNamespaces(namespaces, machine)]
      .filter(({ kind }) => kind === 'bubblewrap' || held.user !== undefined)
      .map((kind) => ({ ...held, namespaces: kind }));
  }
  if (wanted[layer] === undefined || (layer === 'user' && held.noNewPrivileges === undefined)) return [];
  return [{ ...held, [layer]: wanted[layer] }];
}

const settle = (
  confinement: Confinement,
  off: Readonly<Partial<Record<FallibleLayer, string>>>,
): Settled => ({ confinement, layers: describeLayers(confinement, off) });

/** The machine as it is. */
export function lookAtMachine(): Machine {
  const linux = process.platform === 'linux';
  const found = TOOLS.flatMap((tool) => {
    const path = TOOL_FOLDERS.map((folder) => join(folder, tool)).find(isExecutable);
    return linux && path !== undefined ? [[tool, path]] : [];
  });
  return { linux, root: process.getuid?.() === 0, tools: Object.fromEntries(found) };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a program that ends by itself. @returns what went wrong; undefined where it ended well */
export function tryProgram(confinement: Confinement, program: ConfinedProgram): Promise<string | undefined> {
  const [path = '', ...args] = confinedCommand(confinement, program, { turn: 0, infoFd: SELF_TEST_INFO_FD });
  const child = spawn(path, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
    timeout: SELF_TEST_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(0, SAID_CHARS_MAX);
  });
  // What bubblewrap has to tell is of no use here.
  (child.stdio[SELF_TEST_INFO_FD] as Readable).on('error', () => undefined).resume();
  return new Promise((resolve) => {
    child.on('error', ({ message }) => resolve(message));
    child.on('close', (code, signal) => {
      resolve(code === 0 ? undefined : reasonOf(said, `ended with ${signal ?? code}`));
    });
  });
}

function reasonOf(stderr: string, message: string): string {
  const lines = stderr.trim().split('\n');
  const telling = lines.find((line) => /error|denied|failed|cannot|can't|not permitted|No such/i.test(line));
  return (telling || lines.at(-1) || message).trim().slice(0, REASON_CHARS_MAX);
}
