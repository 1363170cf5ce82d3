/**
 * Finds, once at start, which layers of `layers.ts` hold on this machine, by a self-test: it starts
 * the program behind them. A tool that is installed is no proof: kernels, containers and security
 * modules forbid different things.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ConfinedProgram } from './confined-program.ts';
import {
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
const STDERR_CHARS_MAX = 4_096;
const REASON_CHARS_MAX = 200;

/** @returns what went wrong; undefined where the program ran */
export type SelfTest = (confinement: Confinement) => Promise<string | undefined>;

/** The layers that hold, and a description of all layers for the operator. */
export interface Settled {
  readonly confinement: Confinement;
  readonly layers: Layers;
}

/**
 * Chooses the layers for one kind of process.
 *
 * @param what the processes are, for messages
 * @param selfTest the program that shows whether all files it needs can be read from behind these
 * layers
 * @throws an Error that says what is missing where bubblewrap is required and does not work
 */
export async function confine(
  what: 'cells' | 'bundlers',
  settings: HardeningSettings,
  selfTest: (confinement: Confinement) => ConfinedProgram,
): Promise<Settled> {
  const settled = await settleLayers(settings, inspectMachine(), (confinement) =>
    tryProgram(confinement, selfTest(confinement)),
  );
  const { namespaces } = settled.confinement;
  if (settings.sandbox === 'required' && namespaces?.kind !== 'bubblewrap') {
    throw new Error(
      `--cell-sandbox is "required", but ${what} cannot be started in bubblewrap: ${settled.layers.namespaces.detail}. ` +
        'It needs the package bubblewrap, and a system that lets this user make user namespaces; "auto" starts without them where it must.',
    );
  }
  return settled;
}

/**
 * Tries all layers at once, which mostly works; else layer by layer, to find the one that fails.
 */
export async function settleLayers(
  settings: HardeningSettings,
  machine: Machine,
  selfTest: SelfTest,
): Promise<Settled> {
  const plan = planLayers(settings, machine);
  if ((await selfTest(plan.wanted)) === undefined) return settle(plan.wanted, plan.off);
  return layerByLayer(plan, machine, selfTest);
}

async function layerByLayer(
  { wanted, off }: LayerPlan,
  machine: Machine,
  selfTest: SelfTest,
): Promise<Settled> {
  const reasons: Partial<Record<FallibleLayer, string>> = { ...off };
  let held: Confinement = { ...UNCONFINED, jitless: wanted.jitless };
  for (const layer of FALLIBLE_LAYERS) {
    for (const next of withLayer(held, wanted, layer, machine)) {
      const problem = await selfTest(next);
      if (problem === undefined) {
        held = next;
        delete reasons[layer];
        break;
      }
      // The operator sees why the best kind failed, not the weaker ones.
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

/** Finds the user, and the tools in the system's own folders. */
export function inspectMachine(): Machine {
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

/**
 * Runs a program that ends by itself. @returns what went wrong; undefined where it exited with 0
 */
export function tryProgram(confinement: Confinement, program: ConfinedProgram): Promise<string | undefined> {
  const [path = '', ...args] = confinedCommand(confinement, program, { turn: 0, infoFd: SELF_TEST_INFO_FD });
  const child = spawn(path, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
    timeout: SELF_TEST_MS,
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(0, STDERR_CHARS_MAX);
  });
  // The report of bubblewrap is not needed here.
  (child.stdio[SELF_TEST_INFO_FD] as Readable).on('error', () => undefined).resume();
  return new Promise((resolve) => {
    child.on('error', ({ message }) => resolve(message));
    child.on('close', (code, signal) => {
      resolve(code === 0 ? undefined : reasonOf(stderr, `ended with ${signal ?? code}`));
    });
  });
}

function reasonOf(stderr: string, message: string): string {
  const lines = stderr.trim().split('\n');
  const reason = lines.find((line) => /error|denied|failed|cannot|can't|not permitted|No such/i.test(line));
  return (reason || lines.at(-1) || message).trim().slice(0, REASON_CHARS_MAX);
}
