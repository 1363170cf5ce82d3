/**
 * The layers of confinement between the machine and a child process that has been taken over, a
 * cell or the bundler of an upload: which of them to try on a machine, and the command line that
 * starts a program behind them.
 *
 * Pure: `confine.ts` inspects the machine and starts programs. A layer that is off has a reason,
 * for the operator.
 */
import { type Bubblewrap, bubblewrapCommand } from './bubblewrap.ts';
import type { ConfinedProgram } from './confined-program.ts';

/** Whether namespaces are tried, required (those of bubblewrap) or off. */
export const CELL_SANDBOX = ['auto', 'required', 'off'] as const;

/** The operator's choice. */
export interface HardeningSettings {
  readonly sandbox: (typeof CELL_SANDBOX)[number];
  /** First of the user ids that these processes run as, and how many there are. */
  readonly firstUser: number;
  readonly users: number;
  /** V8 without its compilers. */
  readonly jitless: boolean;
  /** Resident memory at which the host kills such a process. */
  readonly cellRssMib: number;
}

/** User ids of cells; those of bundlers follow them: a bundler never shares an id with a cell. */
export const CELL_USERS = 512;
/**
 * With the default of `--cell-user`, all of them are below the ids that systemd allocates (from
 * 61184).
 */
export const BUNDLER_USERS = 64;

/** What was found on the machine. */
export interface Machine {
  readonly linux: boolean;
  readonly root: boolean;
  /** Paths of the programs that make the layers, of those that are installed. */
  readonly tools: Readonly<Partial<Record<Tool, string>>>;
}

export const TOOLS = ['setpriv', 'prlimit', 'bwrap', 'unshare'] as const;
type Tool = (typeof TOOLS)[number];

/** Layers, outermost last. */
export type LayerName =
  | 'permission'
  | 'empty'
  | 'jitless'
  | 'limits'
  | 'noNewPrivileges'
  | 'user'
  | 'namespaces';

export interface LayerState {
  readonly on: boolean;
  /** What it consists of; of a layer that is off, why. */
  readonly detail: string;
}

export type Layers = Readonly<Record<LayerName, LayerState>>;

/** The layers behind which a program is started. */
export interface Confinement {
  readonly jitless: boolean;
  /** `prlimit`, and the bound on the data segment, where there is one. */
  readonly limits?: { readonly tool: string; readonly dataBytes?: number };
  /** `setpriv`; `bounding` where the bounding set can be emptied, which takes root. */
  readonly noNewPrivileges?: { readonly tool: string; readonly bounding: boolean };
  /** User ids; needs `noNewPrivileges`, whose tool changes the user. */
  readonly user?: UserIds;
  readonly namespaces?: Namespaces;
}

export type Namespaces =
  | ({ readonly kind: 'bubblewrap' } & Bubblewrap)
  | { readonly kind: 'unshare'; readonly tool: string };

/** The layers that can fail on a machine, in the order in which they are tried. */
export type FallibleLayer = 'limits' | 'noNewPrivileges' | 'user' | 'namespaces';
export const FALLIBLE_LAYERS: readonly FallibleLayer[] = ['limits', 'noNewPrivileges', 'user', 'namespaces'];

/** Node's own layers alone: the confinement on a machine without any of the tools. */
export const UNCONFINED: Confinement = { jitless: false };

/**
 * User ids that processes take in turn, from the first one on. Each process has its own as long as
 * fewer than `count` are alive. Without namespaces this protects a process from signals and memory
 * access of the next one.
 */
export interface UserIds {
  readonly first: number;
  readonly count: number;
}
/**
 * Threads and processes of one user id. A cell has some 30; ids are shared where two services run
 * on one machine.
 */
const THREADS_MAX = 512;
/** Descriptors: Node's own, the pipe and the execution journal. */
const FILES_MAX = 128;
/** Room for the execution journal; a cell writes no other file. */
const FILE_BYTES_MAX = 64 * 1024;
/**
 * A bound above that on resident memory fails an allocation that would leap past it between two
 * checks of the host. Only where V8 does not compile: else every isolate reserves 512 MiB for code,
 * which count as data although they are empty.
 */
const DATA_BEYOND_RSS_MIB = 1_024;
const MIB = 1024 * 1024;

/** What to try on this machine, and why the rest is not tried. */
export interface LayerPlan {
  readonly wanted: Confinement;
  readonly off: Readonly<Partial<Record<FallibleLayer, string>>>;
}

/** Decides which layers to try on a machine. */
export function planLayers(settings: HardeningSettings, { linux, root, tools }: Machine): LayerPlan {
  const off: Partial<Record<FallibleLayer, string>> = {};
  const lacks = (tool: string, from: string) =>
    linux ? `\`${tool}\` was not found: install the package ${from}` : 'needs Linux';
  const { setpriv, prlimit } = tools;
  if (prlimit === undefined) off.limits = lacks('prlimit', 'util-linux');
  if (setpriv === undefined) off.noNewPrivileges = lacks('setpriv', 'util-linux');
  if (!linux) off.user = 'needs Linux';
  else if (!root) off.user = 'the host is not root, so the process runs as the user of the host';
  else if (setpriv === undefined) off.user = lacks('setpriv', 'util-linux');
  const namespaces = planNamespaces(settings, root, tools);
  if (settings.sandbox === 'off') off.namespaces = 'turned off by --cell-sandbox';
  else if (namespaces === undefined) off.namespaces = lacks('bwrap', 'bubblewrap');
  const wanted: Confinement = {
    jitless: settings.jitless,
    ...(prlimit && {
      limits: {
        tool: prlimit,
        ...(settings.jitless && { dataBytes: (settings.cellRssMib + DATA_BEYOND_RSS_MIB) * MIB }),
      },
    }),
    ...(setpriv && { noNewPrivileges: { tool: setpriv, bounding: root } }),
    ...(off.user === undefined && { user: { first: settings.firstUser, count: settings.users } }),
    ...(namespaces && { namespaces }),
  };
  return { wanted, off };
}

function planNamespaces(
  { sandbox }: HardeningSettings,
  root: boolean,
  { bwrap, unshare, setpriv }: Machine['tools'],
): Namespaces | undefined {
  if (sandbox === 'off') return undefined;
  if (bwrap !== undefined) return { kind: 'bubblewrap', tool: bwrap, nested: false };
  // As root; `setpriv` gives root up right after.
  if (sandbox === 'auto' && root && unshare && setpriv) return { kind: 'unshare', tool: unshare };
  return undefined;
}

/** Weaker kinds of namespaces to try where these do not work, best first. */
export function weakerNamespaces(failed: Namespaces, { root, tools }: Machine): Namespaces[] {
  if (failed.kind === 'unshare') return [];
  const weaker: Namespaces[] = [{ ...failed, nested: true }];
  if (root && tools.unshare !== undefined) weaker.push({ kind: 'unshare', tool: tools.unshare });
  return weaker;
}

/** The user id of the n-th process. */
const userOf = ({ first, count }: UserIds, turn: number): number => first + (turn % count);

/**
 * The command that starts a program behind the layers: the path, then its arguments. Each tool
 * replaces itself by the next.
 *
 * @param turn counts the processes, from any number; decides the user id
 * @param infoFd descriptor on which bubblewrap reports the process that it has started
 */
export function confinedCommand(
  confinement: Confinement,
  program: ConfinedProgram,
  { turn, infoFd }: { readonly turn: number; readonly infoFd: number },
): string[] {
  const { limits, noNewPrivileges, user, namespaces } = confinement;
  const uid = user && userOf(user, turn);
  const command: string[] = [];
  if (namespaces?.kind === 'unshare') command.push(namespaces.tool, '--net', '--ipc', '--uts', '--');
  if (noNewPrivileges) {
    const { tool, bounding } = noNewPrivileges;
    command.push(tool, '--no-new-privs', '--inh-caps=-all');
    if (bounding) command.push('--bounding-set=-all');
    if (uid !== undefined) command.push(`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups');
    command.push('--');
  }
  if (limits) {
    command.push(
      limits.tool,
      ...rlimits(limits.dataBytes),
      ...(user ? [`--nproc=${THREADS_MAX}`] : []),
      '--',
    );
  }
  if (namespaces?.kind === 'bubblewrap') command.push(...bubblewrapCommand(namespaces, program, infoFd, uid));
  return [...command, program.path, ...program.args];
}

const rlimits = (dataBytes: number | undefined): string[] => [
  // A core dump would put tenants' data into a file.
  '--core=0',
  ...(dataBytes === undefined ? [] : [`--data=${dataBytes}`]),
  `--nofile=${FILES_MAX}`,
  `--fsize=${FILE_BYTES_MAX}`,
];

/** For the operator: each layer, on or off, and why. */
export function describeLayers(
  confinement: Confinement,
  off: Readonly<Partial<Record<FallibleLayer, string>>>,
): Layers {
  const { limits, noNewPrivileges, user, namespaces } = confinement;
  const state = (layer: FallibleLayer, detail: string | undefined): LayerState =>
    detail === undefined ? { on: false, detail: off[layer] ?? 'not available' } : { on: true, detail };
  const sandboxed = namespaces?.kind === 'bubblewrap';
  const privileges =
    noNewPrivileges || sandboxed
      ? `set${noNewPrivileges?.bounding || sandboxed ? ', no capabilities' : ''}`
      : undefined;
  return {
    permission: { on: true, detail: 'Node’s permission model' },
    empty: { on: true, detail: 'no environment, no descriptors but its pipes, working directory /' },
    jitless: confinement.jitless
      ? { on: true, detail: 'V8 interprets' }
      : { on: false, detail: 'V8 compiles; --cell-jitless turns it on' },
    limits: state('limits', limits && describeLimits(limits.dataBytes)),
    noNewPrivileges: state('noNewPrivileges', privileges),
    user: state('user', user && `uids ${user.first} to ${user.first + user.count - 1}`),
    namespaces: state('namespaces', namespaces && describeNamespaces(namespaces)),
  };
}

function describeLimits(dataBytes: number | undefined): string {
  const data = dataBytes === undefined ? '' : `, data ${dataBytes / MIB} MiB`;
  return `no core dumps, ${FILES_MAX} descriptors, files of ${FILE_BYTES_MAX / 1024} KiB${data}`;
}

function describeNamespaces(namespaces: Namespaces): string {
  if (namespaces.kind === 'unshare') return 'unshare: network, ipc, uts; not files, not pids';
  const nested = namespaces.nested ? '; it could make user namespaces of its own' : '';
  return `bubblewrap: files, network, pids, ipc, uts, users${nested}`;
}
