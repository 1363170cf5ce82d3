/**
 * Starts the process of the next upload before it arrives: the start of Node and of esbuild is most
 * of the time that a small publish takes.
 *
 * One process waits, and only while an author is at work: after an upload that followed another one
 * within some minutes, and from the start of a service that an author's tool has started. A
 * deployment, which uploads once, leaves none behind. The process is confined like every other
 * process of an upload, has been sent nothing, and is used for one upload alone.
 */
import type { LaunchedProcess, Launcher, LaunchOptions } from '../confinement/launch.ts';
import { BUNDLER_LAUNCH } from './bundler-program.ts';

/** An author at work publishes more often than this; a process waits for no longer. */
const WAIT_MS = 10 * 60_000;

export interface SpareBundlerDeps {
  readonly launcher: Pick<Launcher, 'launch'>;
  /** Runs something later. @returns cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** A launcher for the processes of uploads that has one of them ready. */
export class SpareBundler implements Pick<Launcher, 'launch'> {
  readonly #deps: SpareBundlerDeps;
  #spare: LaunchedProcess | undefined;
  #cancelEnd: () => void = () => undefined;
  #cancelPause: () => void = () => undefined;
  /** Uploads in a row, without a pause of `WAIT_MS`. */
  #uploads = 0;
  /** Processes that are in use. */
  #used = 0;
  #isClosed = false;

  constructor(deps: SpareBundlerDeps) {
    this.#deps = deps;
  }

  /** The process that waits, or a new one. */
  launch(options: LaunchOptions): LaunchedProcess {
    const launched = this.#taken() ?? this.#deps.launcher.launch(options);
    this.#used += 1;
    this.#count();
    launched.child.once('close', () => {
      this.#used -= 1;
      // Not before: its start would take CPU from the upload that is being bundled.
      if (this.#used === 0 && this.#uploads > 1) this.#prepare(options);
    });
    return launched;
  }

  /** An author is at work: the first upload finds its process ready. */
  expectUploads(): void {
    this.#count();
    this.#prepare(BUNDLER_LAUNCH);
  }

  /** Ends the process that waits; none is prepared from now on. */
  close(): void {
    this.#isClosed = true;
    this.#cancelPause();
    this.#end();
  }

  #count(): void {
    this.#uploads += 1;
    this.#cancelPause();
    this.#cancelPause = this.#deps.after(WAIT_MS, () => {
      this.#uploads = 0;
    });
  }

  #prepare(options: LaunchOptions): void {
    if (this.#isClosed || this.#spare !== undefined) return;
    const spare = this.#deps.launcher.launch(options);
    this.#spare = spare;
    const forget = () => {
      if (this.#spare === spare) this.#spare = undefined;
    };
    spare.child.once('exit', forget);
    // Without listeners, a process that cannot be started would end the host.
    spare.child.on('error', forget);
    spare.pipe.on('error', () => undefined);
    this.#cancelEnd = this.#deps.after(WAIT_MS, () => this.#end());
  }

  /** What the process has sent so far stays in its pipe for the upload that takes it. */
  #taken(): LaunchedProcess | undefined {
    const spare = this.#spare;
    this.#cancelEnd();
    this.#spare = undefined;
    return spare;
  }

  #end(): void {
    this.#taken()?.kill();
  }
}
