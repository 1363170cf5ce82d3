/**
 * The folder of the files from which cells are started. Its host removes it; the next host removes
 * that of one that was killed.
 *
 * All users share the temporary folder, and so may hosts in other containers, for which a process
 * id has no meaning. So a host listens on a socket in its folder: once a host has ended, in
 * whatever way, the kernel refuses connections to it.
 */
import { chmodSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'annex-cell-';
/** A socket on which the folder's host listens for as long as it lives. */
const ALIVE = 'alive';
/**
 * The same before it listens: another host takes the folder for one that is being made, and leaves
 * it.
 */
const STARTING = 'starting';
const SCRIPT = 'cell.cjs';
const BUNDLER = 'bundler-process.cjs';
const ESBUILD = 'esbuild';
const ESBUILD_WITHOUT_FILES = 'esbuild-without-files';
const ADDON = 'isolated-vm.node';
const MADE_HERE = [SCRIPT, BUNDLER, ESBUILD, ESBUILD_WITHOUT_FILES, ADDON, STARTING, ALIVE];
/**
 * Attack: another user fills the temporary folder with names like these, and the start of a host
 * takes for ever.
 */
const FOLDERS_CHECKED_MAX = 1_000;

export interface CellFolder {
  readonly path: string;
  /** Place for a cell's script. */
  readonly scriptPath: string;
  /** Place for the script of the process that bundles an upload. */
  readonly bundlerPath: string;
  /** Place for esbuild's program. */
  readonly esbuildPath: string;
  /** Place for the script that starts esbuild without descriptors to spare. */
  readonly esbuildWithoutFilesPath: string;
  /** Place for the addon. */
  readonly addonPath: string;
  remove(): void;
}

/**
 * Makes a folder that only this user can read and write. Removes the folders of hosts that were
 * killed.
 */
export async function makeCellFolder(root = tmpdir()): Promise<CellFolder> {
  await removeAbandoned(root);
  const path = mkdtempSync(join(root, PREFIX));
  const server = await listenAlive(path);
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

/**
 * @returns undefined where it cannot listen, as where the path is too long for a socket: no host
 * removes such a folder
 */
function listenAlive(folder: string): Promise<Server | undefined> {
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
  for (const name of names.slice(0, FOLDERS_CHECKED_MAX)) {
    const folder = join(root, name);
    if (await isAbandoned(folder)) removeFolder(folder);
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  const stats = await lstat(folder).catch(() => undefined);
  // Attack: another user leaves a folder here, or a link to one, so that a host with more rights
  // empties the target.
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

/**
 * Removes by name what was made here, and nothing else: so a link to another folder would do no
 * harm.
 */
function removeFolder(folder: string): void {
  try {
    for (const name of MADE_HERE) rmSync(join(folder, name), { force: true });
    rmdirSync(folder);
  } catch {
    // Another host may have removed it already, or it has a file that was not made here.
  }
}
