/**
 * A cell that has been taken over completely, with its engine and Node: its further attacks fail at
 * a layer outside of both. The attacker is Perl, started by the same launcher; each attack is shown
 * to work where the layers are off.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Settled, settleLayers } from '../../../src/host/confinement/confine.ts';
import type { ConfinedProgram } from '../../../src/host/confinement/confined-program.ts';
import { confinedCommand, describeLayers, UNCONFINED } from '../../../src/host/confinement/layers.ts';
import { buildCell } from '../../../src/host/launch/cell-build.ts';
import { confineHere, HARDENING, launch, perl, runToEnd } from '../../support/cells/confined-cell.ts';
import { needs } from '../../support/programs.ts';

const build = await buildCell();
/** All layers that this machine allows; and those without bubblewrap, as on most other machines. */
const hardest = await confineHere(build, { jitless: true });
const plain = await confineHere(build, { sandbox: 'off' });
const open: Settled = { confinement: UNCONFINED, layers: describeLayers(UNCONFINED, {}) };
const isRoot = process.getuid?.() === 0;

type AttackedLayer = 'bubblewrap' | 'network' | 'user' | 'limits' | 'data';

/** Whether one of these layers is on. */
function holds({ confinement }: Settled, layers: readonly AttackedLayer[]): boolean {
  const { namespaces, user, limits } = confinement;
  const held: Record<AttackedLayer, boolean> = {
    bubblewrap: namespaces?.kind === 'bubblewrap',
    network: namespaces !== undefined,
    user: user !== undefined,
    limits: limits !== undefined,
    data: limits?.dataBytes !== undefined,
  };
  return layers.some((layer) => held[layer]);
}

const folder = mkdtempSync(join(tmpdir(), 'annex-host-'));
/** Readable by all users, like the folder of the cell's script. */
const scripts = mkdtempSync(join(tmpdir(), 'annex-attackers-'));
chmodSync(scripts, 0o755);
let attackers = 0;
const database = join(folder, 'annex.db');
const socketPath = join(folder, 'socket');
const abstractName = `annex-${process.pid}`;
/** The host as the attacker sees it: processes, listeners and files beside the cell. */
let victim: ChildProcess;
let port = 0;
const servers: Server[] = [];

beforeAll(async () => {
  writeFileSync(database, 'rows', { mode: 0o600 });
  victim = spawn('sleep', ['600'], { env: { ADMIN_TOKEN: 'of-the-host' }, stdio: 'ignore' });
  for (const place of [0, socketPath, `\0${abstractName}`]) {
    const server = createServer((socket) => socket.on('error', () => undefined).end());
    await new Promise<void>((resolve) =>
      typeof place === 'number' ? server.listen(place, '127.0.0.1', resolve) : server.listen(place, resolve),
    );
    const address = server.address();
    if (address !== null && typeof address === 'object') port = address.port;
    servers.push(server);
  }
});
afterAll(() => {
  victim.kill('SIGKILL');
  for (const server of servers) server.close();
  build.remove();
  for (const path of [folder, scripts]) rmSync(path, { recursive: true, force: true });
});

/** A Perl program that reports `done` where the attack worked, and else why not. */
function attacker(attack: string): ConfinedProgram {
  attackers += 1;
  const path = join(scripts, `${attackers}.pl`);
  writeFileSync(
    path,
    // Programs that it executes inherit all its descriptors.
    `BEGIN { $^F = 255 } use Socket; use POSIX (); open($pipe, '>&=', 3) or die;
     sub report { syswrite($pipe, join(' ', @_) . "\\n") }
     sub done { report('done'); exit 0 }
     sub failed { report('failed', $!); exit 0 }
     ${attack}`,
  );
  return perl(path);
}

async function attempt(settled: Settled, attack: string): Promise<string> {
  const { output, stderr, how } = await runToEnd(launch(build, settled, attacker(attack)));
  return output.trim() || `${how} ${stderr}`;
}

/** Numbers of system calls. */
const CALL =
  process.arch === 'arm64' ? { ptrace: 117, unshare: 97, mmap: 222 } : { ptrace: 101, unshare: 272, mmap: 9 };
const PTRACE_ATTACH = 16;
const CLONE_NEWUSER = 0x1000_0000;
const SEVEN_GIB = 7 * 1024 ** 3;

const readIt = (path: string) => `open($file, '<', "${path}") && read($file, $bytes, 1) ? done() : failed();`;
const connectTo = (family: string, address: string) =>
  `socket($s, ${family}, SOCK_STREAM, 0) && connect($s, ${address}) ? done() : failed();`;

interface Attack {
  readonly layers: readonly AttackedLayer[];
  /** Not shown to work without layers, because it would harm the machine of the tests. */
  readonly harmful?: true;
  /** It works for a host that is root alone. */
  readonly asRoot?: true;
  perl(): string;
}

const ATTACKS: Record<string, Attack> = {
  'reads a file that any user may read': { layers: ['bubblewrap'], perl: () => readIt('/etc/passwd') },
  'reads the database': { layers: ['bubblewrap', 'user'], perl: () => readIt(database) },
  "reads the host's environment": {
    layers: ['bubblewrap', 'user'],
    perl: () => readIt(`/proc/${victim.pid}/environ`),
  },
  "reads the host's memory": {
    layers: ['bubblewrap', 'user'],
    asRoot: true,
    perl: () => {
      const address = /^([0-9a-f]+)-\S+ rw/m.exec(readFileSync(`/proc/${victim.pid}/maps`, 'latin1'))?.[1];
      return `open($file, '<', "/proc/${victim.pid}/mem") && sysseek($file, hex('${address}'), 0)
        && sysread($file, $bytes, 8) ? done() : failed();`;
    },
  },
  'lists the processes of the machine': {
    layers: ['bubblewrap'],
    perl: () => `opendir($folder, '/proc') && grep(/^\\d+$/, readdir $folder) > 1 ? done() : failed();`,
  },
  'connects to a listener on loopback': {
    layers: ['network'],
    perl: () => connectTo('PF_INET', `sockaddr_in(${port}, inet_aton('127.0.0.1'))`),
  },
  'connects to a unix socket': {
    layers: ['bubblewrap', 'user'],
    perl: () => connectTo('PF_UNIX', `sockaddr_un('${socketPath}')`),
  },
  'connects to an abstract unix socket': {
    layers: ['network'],
    perl: () => connectTo('PF_UNIX', `pack('S a*', AF_UNIX, "\\0${abstractName}")`),
  },
  'signals the host': {
    layers: ['bubblewrap', 'user'],
    perl: () => `kill(0, ${victim.pid}) ? done() : failed();`,
  },
  'attaches to the host as a debugger': {
    layers: ['bubblewrap', 'user'],
    asRoot: true,
    perl: () => `syscall(${CALL.ptrace}, ${PTRACE_ATTACH}, ${victim.pid}, 0, 0) == 0 ? done() : failed();`,
  },
  'becomes root again': {
    layers: ['user'],
    asRoot: true,
    perl: () => `POSIX::setgid(0) && POSIX::setuid(0) && $> == 0 ? done() : failed();`,
  },
  'makes a user namespace, to have capabilities in it': {
    layers: ['bubblewrap'],
    asRoot: true,
    perl: () => `syscall(${CALL.unshare}, ${CLONE_NEWUSER}) == 0 ? done() : failed();`,
  },
  'writes a file': {
    layers: ['bubblewrap'],
    perl: () => `for my $to ('/tmp', '/dev/shm', '/var/tmp', '') {
      my $path = "$to/annex-planted-$$"; if (open($file, '>', $path)) { unlink $path; done() } } failed();`,
  },
  'starts a shell': {
    layers: ['bubblewrap'],
    perl: () => `exec('/bin/sh', '-c', 'echo done >&3') or failed();`,
  },
  'fills the disk through the file it has': {
    layers: ['limits'],
    perl: () => `$SIG{XFSZ} = 'IGNORE'; open(my $journal, '+<&=', 4) or die; my $all = 0;
      while ($all < 1_000_000) { my $n = syswrite($journal, 'x' x 10_000); defined $n or failed(); $all += $n } done();`,
  },
  'opens descriptors without end': {
    layers: ['limits'],
    perl: () =>
      `my @kept; for (1 .. 1_000) { open(my $again, '>&', $pipe) or failed(); push @kept, $again } done();`,
  },
  'reserves memory without end': {
    layers: ['data'],
    perl: () => `syscall(${CALL.mmap}, 0, ${SEVEN_GIB}, 3, 0x4022, -1, 0) == -1 ? failed() : done();`,
  },
  'forks without end': {
    layers: ['user'],
    harmful: true,
    perl: () => `my @children; for (1 .. 600) { my $child = fork();
      if (!defined $child) { my $why = $!; kill('KILL', @children); $! = $why; failed() }
      if ($child == 0) { POSIX::pause(); exit 0 } push @children, $child } kill('KILL', @children); done();`,
  },
};

const settings: [string, Settled][] = [
  ['behind all layers', hardest],
  ['without bubblewrap', plain],
];

describe.each(settings)('a cell that has been taken over, %s,', needs('perl'), (_, settled) => {
  for (const [name, { layers, perl: attack }] of Object.entries(ATTACKS)) {
    const skipped = holds(settled, layers) ? '' : ` (skipped: no ${layers.join(', no ')})`;
    test.skipIf(skipped !== '')(`${name}: denied${skipped}`, async () => {
      expect(await attempt(settled, attack())).toMatch(/^failed \S/);
    });
  }
});

describe('the attacks are real:', needs('perl'), () => {
  for (const [name, { harmful, asRoot, perl: attack }] of Object.entries(ATTACKS)) {
    if (harmful) continue;
    const skipped = asRoot && !isRoot ? ' (skipped: takes root)' : '';
    test.skipIf(skipped !== '')(`a program without layers ${name}${skipped}`, async () => {
      expect(await attempt(open, attack())).toBe('done');
    });
  }
});

describe.each(settings)('what a cell starts with, %s:', needs('perl'), (_, settled) => {
  test('the pipe, the execution journal and no other descriptor; no environment; the root as its folder', async () => {
    const output = await attempt(
      settled,
      `my @open = grep { my $again = POSIX::dup($_); POSIX::close($again) if defined $again; defined $again } 0 .. 120;
       delete $ENV{PWD} if ($ENV{PWD} // '') eq '/';
       report(join(',', @open), join(',', %ENV), POSIX::getcwd());`,
    );
    expect(output).toBe('0,1,2,3,4  /');
  });

  test('a user id of its own, no groups, and no way to gain privileges', async () => {
    const cell = launch(build, settled, attacker('sysread(STDERR, my $byte, 1); sleep 60'));
    await expect.poll(() => cell.pid && statusOf(cell.pid)?.['Name']).toBe('perl');
    const status = statusOf(cell.pid ?? 0);
    const { user, noNewPrivileges, namespaces } = settled.confinement;
    if (user) expect(Number(status?.['Uid']?.split('\t')[0])).toBeGreaterThanOrEqual(user.first);
    if (user)
      expect(new Set([...(status?.['Uid'] ?? '').split('\t'), status?.['Groups']?.trim()]).size).toBe(2);
    if (noNewPrivileges || namespaces) expect(status?.['NoNewPrivs']).toBe('1');
    if (noNewPrivileges?.bounding) {
      expect([status?.['CapEff'], status?.['CapBnd'], status?.['CapInh']]).toEqual(
        Array(3).fill('0'.repeat(16)),
      );
    }
    cell.kill();
    expect((await runToEnd(cell)).how).toBe('ended by SIGKILL');
  });

  test('neighbours that it can neither signal nor read', async (context) => {
    if (!holds(settled, ['bubblewrap', 'user'])) context.skip('no layer keeps cells apart here');
    const neighbour = launch(build, settled, attacker('sleep 60'));
    await expect.poll(() => neighbour.pid && statusOf(neighbour.pid)?.['Name']).toBe('perl');
    const output = await attempt(
      settled,
      `report(kill(0, ${neighbour.pid}) ? 'done' : 'failed'); report(open(my $f, '<', '/proc/${neighbour.pid}/mem') ? 'done' : 'failed');`,
    );
    expect(output).toBe('failed\nfailed');
    neighbour.kill();
    await runToEnd(neighbour);
  });
});

/** `/proc/<pid>/status`; undefined where there is no such process, or a zombie. */
function statusOf(pid: number): Record<string, string> | undefined {
  try {
    const lines = readFileSync(`/proc/${pid}/status`, 'latin1').split('\n');
    const status = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
    return status['State']?.startsWith('Z') ? undefined : status;
  } catch {
    return undefined;
  }
}

describe.each(settings)('the end of a cell, %s:', needs('perl'), (_, settled) => {
  const running = async () => {
    const cell = launch(build, settled, attacker('sleep 60'));
    await expect.poll(() => cell.pid && statusOf(cell.pid)?.['Name']).toBe('perl');
    return cell;
  };

  test('an exit code is reported as it was, and a signal by its name', async () => {
    expect((await runToEnd(launch(build, settled, attacker('exit 7')))).how).toBe('exited with 7');
    const faulty = attacker(`unpack('p', pack('J', 1))`);
    expect((await runToEnd(launch(build, settled, faulty))).how).toBe('ended by SIGSEGV');
  });

  test.each(['the cell', 'the child process of the host'] as const)(
    'killing %s leaves no process',
    async (which) => {
      const cell = await running();
      const [own = 0, started = 0] = [cell.pid, cell.child.pid];
      process.kill(which === 'the cell' ? own : started, 'SIGKILL');
      expect((await runToEnd(cell)).how).toBe('ended by SIGKILL');
      await expect.poll(() => [statusOf(own), statusOf(started)]).toEqual([undefined, undefined]);
    },
  );

  test('a cell that is killed before it has begun leaves no process', async () => {
    const cell = launch(build, settled, attacker('sleep 60'));
    cell.kill();
    expect((await runToEnd(cell)).how).toBe('ended by SIGKILL');
    const left = () => cell.pid !== undefined && statusOf(cell.pid) !== undefined;
    await expect.poll(left).toBe(false);
  });
});

describe('the layers of a machine', () => {
  const settings = { ...HARDENING };
  const tools = {
    setpriv: '/usr/bin/setpriv',
    prlimit: '/usr/bin/prlimit',
    bwrap: '/usr/bin/bwrap',
    unshare: '/usr/bin/unshare',
  };
  const machine = { linux: true, root: true, tools };
  const program = { path: '/node', args: ['cell.cjs'], files: ['/cell.cjs'] };
  const works = async () => undefined;
  const isOn = ({ layers }: Settled) =>
    Object.entries(layers).flatMap(([name, { on }]) => (on ? [name] : []));

  test('are all on where everything works, and the tools start each other in an order that works', async () => {
    const settled = await settleLayers(settings, machine, works);
    expect(isOn(settled)).toEqual(['permission', 'empty', 'limits', 'noNewPrivileges', 'user', 'namespaces']);
    const command = confinedCommand(settled.confinement, program, { turn: 3, infoFd: 5 });
    const at = ['setpriv', 'prlimit', 'bwrap'].map((tool) => command.indexOf(`/usr/bin/${tool}`));
    expect(at).toEqual(at.toSorted((one, other) => one - other));
    expect(at[0]).toBe(0);
    expect(command).toContain('--reuid=60603');
    expect(command.slice(-3)).toEqual(['--', '/node', 'cell.cjs']);
  });

  test('have a detail that names the missing part if they are off', async () => {
    const bare = await settleLayers(settings, { linux: true, root: false, tools: {} }, works);
    expect(isOn(bare)).toEqual(['permission', 'empty']);
    expect(bare.layers.namespaces.detail).toContain('install the package bubblewrap');
    expect(bare.layers.limits.detail).toContain('install the package util-linux');
    expect(bare.layers.user.detail).toContain('not root');
    const elsewhere = await settleLayers(settings, { linux: false, root: true, tools: {} }, works);
    expect(elsewhere.layers.namespaces).toEqual({ on: false, detail: 'needs Linux' });
    expect(confinedCommand(elsewhere.confinement, program, { turn: 0, infoFd: 5 })).toEqual([
      '/node',
      'cell.cjs',
    ]);
  });

  test('are turned off one by one where a self-test fails, each with its own reason', async () => {
    const noUser = await settleLayers(settings, machine, async ({ user }) =>
      user ? 'EACCES: /root' : undefined,
    );
    expect(isOn(noUser)).toEqual(['permission', 'empty', 'limits', 'noNewPrivileges', 'namespaces']);
    expect(noUser.layers.user).toEqual({ on: false, detail: 'EACCES: /root' });

    const noNesting = await settleLayers(settings, machine, async ({ namespaces }) =>
      namespaces?.kind === 'bubblewrap' && !namespaces.nested ? 'read-only /proc/sys' : undefined,
    );
    expect(noNesting.layers.namespaces).toEqual({ on: true, detail: expect.stringContaining('of its own') });

    const noBubblewrap = await settleLayers(settings, machine, async ({ namespaces }) =>
      namespaces?.kind === 'bubblewrap' ? 'forbidden' : undefined,
    );
    expect(noBubblewrap.layers.namespaces).toEqual({ on: true, detail: expect.stringContaining('unshare') });
    expect(confinedCommand(noBubblewrap.confinement, program, { turn: 0, infoFd: 5 })[0]).toBe(
      '/usr/bin/unshare',
    );

    const nothing = await settleLayers(settings, machine, async (tried) =>
      Object.keys(tried).length > 1 ? 'forbidden' : undefined,
    );
    expect(isOn(nothing)).toEqual(['permission', 'empty']);
    expect(nothing.layers.namespaces).toEqual({ on: false, detail: 'forbidden' });
  });

  test('never change the user, nor make namespaces as root, without giving up privileges', async () => {
    const settled = await settleLayers(settings, machine, async ({ noNewPrivileges, namespaces }) =>
      noNewPrivileges || namespaces?.kind === 'bubblewrap' ? 'forbidden' : undefined,
    );
    expect(isOn(settled)).toEqual(['permission', 'empty', 'limits']);
  });
});
