/**
 * The folder of what cells are started from. Its host removes it; that of a host which was killed, the next one does.
 *
 * The temporary folder is everybody's, and hosts in other containers may share it, where the number of a process says nothing.
 * So a host listens on a socket in its folder: of a host that is gone, however it went, the kernel refuses connections.
 */
import { chmodSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'annex-cell-';
/** A socket, for as long as the host lives that the folder is of. */
const ALIVE = 'alive';
/** The same while nobody listens yet: who looks then takes the folder for one that is being made. */
const STARTING = 'starting';
const SCRIPT = 'cell.cjs';
const BUNDLER = 'bundler-process.cjs';
const ESBUILD = 'esbuild';
const ESBUILD_WITHOUT_FILES = 'esbuild-without-files';
const ADDON = 'isolated-vm.node';
const MADE_HERE = [SCRIPT, BUNDLER, ESBUILD, ESBUILD_WITHOUT_FILES, ADDON, STARTING, ALIVE];
/** The attack: somebody fills the temporary folder with names like these, and no host ever starts again. */
const LOOKED_AT_MAX = 1_000;

export interface CellFolder {
  readonly path: string;
  /** Where a cell's script belongs. */
  readonly scriptPath: string;
  /** Where what bundles an upload belongs. */
  readonly bundlerPath: string;
  /** Where esbuild's program belongs. */
  readonly esbuildPath: string;
  /** Where the script belongs that starts esbuild without descriptors to spare. */
  readonly esbuildWithoutFilesPath: string;
  /** Where the addon belongs. */
  readonly addonPath: string;
  remove(): void;
}

/** A folder that only this user can write to, and read. What hosts that were killed have left behind is gone then. */
export async function makeCellFolder(root = tmpdir()): Promise<CellFolder> {
  await removeAbandoned(root);
  const path = mkdtempSync(join(root, PREFIX));
  const server = await showAlive(path);
  return {
    path,
    scriptPath: join(path, SCRIPT),
    bundlerPath: join(path, BUNDLER),
    esbuildPath: join(path, ESBUILD),
    esbuildWithoutFilesPath: join(path, ESBUILD_WITHOUT_FILES),
    addonPath: join(path, ADDON),
    remove() {
      server?.close();
      removeFolder(path);
    },
  };
}

/** Undefined where that cannot be, as in a folder whose path is too long for a socket: nobody takes it for abandoned then. */
function showAlive(folder: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve) => {
    server.on('error', () => resolve(undefined));
    server.listen(join(folder, STARTING), () => {
      chmodSync(join(folder, STARTING), 0o600);
      renameSync(join(folder, STARTING), join(folder, ALIVE));
      resolve(server);
    });
  });
}

async function removeAbandoned(root: string): Promise<void> {
  const names = (await readdir(root)).filter((name) => name.startsWith(PREFIX));
  for (const name of names.slice(0, LOOKED_AT_MAX)) {
    const folder = join(root, name);
    if (await isAbandoned(folder)) removeFolder(folder);
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  const stats = await lstat(folder).catch(() => undefined);
  // The attack: another user leaves a folder here, or a link to one, so that somebody with more rights empties what it leads to.
  if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) return false;
  return new Promise((resolve) => {
    const socket = connect(join(folder, ALIVE));
    socket.on('connect', () => {
      resolve(false);
      socket.destroy();
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
}

/** What was made here, by its names, and not all there is: so it is of no use to lead this elsewhere, if somebody could. */
function removeFolder(folder: string): void {
  try {
    for (const name of MADE_HERE) rmSync(join(folder, name), { force: true });
    rmdirSync(folder);
  } catch {
    // Another host that starts may have done it, or there is something in it that was not made here.
  }
}
