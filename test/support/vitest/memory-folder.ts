/**
 * Puts temporary files of tests into memory where there is room: thousands of short-lived databases
 * cost three times as much CPU on a disk, and each commit waits for it. Tests of what reaches a
 * disk watch the system calls, which are the same.
 */
import { statfs } from 'node:fs/promises';

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** The folders of a run need less than a quarter of it. */
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

/** Sets the folder for this process and for those that it starts, unless the user has set one. */
export async function useMemory(): Promise<void> {
  if (process.env['TMPDIR'] === undefined && (await hasMemory())) process.env['TMPDIR'] = MEMORY;
}

async function hasMemory(): Promise<boolean> {
  const found = await statfs(MEMORY).catch(() => undefined);
  return found !== undefined && found.bavail * found.bsize >= MEMORY_BYTES_MIN;
}
