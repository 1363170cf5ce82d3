/**
 * Watches the files of an integration: its folder without packages and hidden folders, and the
 * files of packages and elsewhere that its last upload had. Turns their changes into rounds of
 * work: a round begins when the files have been quiet for a moment, at most one runs at a time, and
 * a change during a round causes another one. So a round always processes the state after the last
 * of many quick saves.
 */
import { relative, sep } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { IGNORE_FILE } from '../../cli/upload/never-uploaded.ts';
import { ENV_FILE } from '../../cli/upload/secret-values.ts';

/** Bounds the watched files where the code imports packages of many thousand. */
const OUTSIDE_MAX = 2_000;
const PACKAGES = 'node_modules';
/** Hidden files that an upload depends on. */
const SEEN = new Set<string>([ENV_FILE, IGNORE_FILE]);

export class FolderWatch {
  readonly #folder: string;
  readonly #watcher: FSWatcher;
  /** Watched files that are not the author's own, by their paths. */
  #outside: Set<string> = new Set();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#watcher = watch(folder, {
      ignoreInitial: true,
      followSymlinks: false,
      alwaysStat: true,
      ignored: (path) => !this.#outside.has(path) && isLeftOut(relative(folder, path)),
    });
  }

  /**
   * @param changed called for each change, with whether the file is empty now
   * @returns once every change is seen
   */
  static async start(folder: string, changed: (isEmpty: boolean) => void): Promise<FolderWatch> {
    const started = new FolderWatch(folder);
    const watcher = started.#watcher;
    // A folder that cannot be read has no files of the upload either.
    watcher.on('error', () => undefined);
    await new Promise<void>((resolve) => watcher.once('ready', resolve));
    watcher.on('all', (_event, _path, stats) => changed(stats?.isFile() === true && stats.size === 0));
    return started;
  }

  /** Watches the files of an upload that are not in the folder. @param origins their paths */
  watchAlso(origins: Iterable<string>): void {
    const isOutside = (path: string) => {
      const inFolder = relative(this.#folder, path);
      return inFolder.startsWith('..') || isLeftOut(inFolder);
    };
    const before = this.#outside;
    this.#outside = new Set([...origins].filter(isOutside).slice(0, OUTSIDE_MAX));
    this.#watcher.unwatch([...before.difference(this.#outside)]);
    this.#watcher.add([...this.#outside.difference(before)]);
  }

  close(): Promise<void> {
    return this.#watcher.close();
  }
}

/** Whether a path is of a package or hidden. @param path relative to the folder */
function isLeftOut(path: string): boolean {
  if (path === '' || path.startsWith('..')) return false;
  return path.split(sep).some((part) => part === PACKAGES || (part.startsWith('.') && !SEEN.has(part)));
}

/** An editor writes a file in several steps, and a tool many files. */
const QUIET_MS = 25;
/**
 * Files that never become quiet do not keep a round from beginning. A file that is empty may be
 * about to be written: a tool makes it empty first, and its text comes later.
 */
const QUIET_MS_MAX = 300;

interface ChangeRoundsDeps {
  /** The work. @param since ticks of the first change that it is for */
  readonly round: (since: number) => Promise<void>;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** Runs something later. @returns cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
}

export class ChangeRounds {
  readonly #deps: ChangeRoundsDeps;
  /** Time of the first change that no round has seen. */
  #since: number | undefined;
  #cancelStart: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: ChangeRoundsDeps) {
    this.#deps = deps;
  }

  /** @param isEmpty whether the file that has changed is empty */
  changed(isEmpty = false): void {
    if (this.#isClosed) return;
    const now = this.#deps.monotonicNow();
    this.#since ??= now;
    if (this.#running !== undefined) return;
    this.#cancelStart();
    const left = this.#since + QUIET_MS_MAX - now;
    const quietMs = isEmpty ? QUIET_MS_MAX : QUIET_MS;
    this.#cancelStart = this.#deps.after(Math.max(0, Math.min(quietMs, left)), () => this.#start());
  }

  /** Waits for a round that runs; none begins from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelStart();
    await this.#running;
  }

  #start(): void {
    const since = this.#since ?? this.#deps.monotonicNow();
    this.#since = undefined;
    this.#running = this.#deps.round(since).finally(() => {
      this.#running = undefined;
      if (this.#since !== undefined) this.changed();
    });
  }
}
