/**
 * Entry point of the process that reads and bundles one upload, then ends.
 *
 * All parsing of untrusted bytes happens here: archives, links, YAML, images, and code, by esbuild
 * as a child process. Attack: a megabyte of `[` overflows esbuild's stack; a TypeScript enum that
 * doubles a string thirty times makes it allocate gigabytes. So each upload has its own confined
 * process with limits, and the host kills it, esbuild included, at its deadline. No tenant code
 * runs here.
 */
import './esbuild-path.ts';
import { Socket } from 'node:net';
import type { Limits } from '../../limits.ts';
import { FrameReader, FrameWriter } from '../../protocol/frames.ts';
import { bundleCode, startBundler } from './bundle-code.ts';
import type { BundleMessage } from './bundle-result.ts';
import { DISKLESS_FLAG, SELF_TEST_FLAG } from './bundler-flags.ts';
import { openParcel, type Parcel, packParcel } from './bundler-message.ts';
import { type BundleRequest, PIPE_FD, type ReadRequest } from './bundler-wire.ts';
import { readUpload } from './reading/read-upload.ts';
import { openForm } from './upload-form.ts';
import { detectWorker } from './worker-frame.ts';

/** The host is trusted; the frame reader needs bounds all the same. */
const HOST_BOUNDS = { headBytes: 16 * 1024 * 1024, bodyBytes: 2 ** 31 };

class UploadProcess {
  readonly #writer: FrameWriter;
  #limits: Limits | undefined;
  /** Path → bytes of the upload's code; empty until it has been read. */
  #files: ReadonlyMap<string, Uint8Array> = new Map();

  constructor(pipe: Socket) {
    this.#writer = new FrameWriter(pipe);
    const reader = new FrameReader(HOST_BOUNDS, (head, body) => this.#receive(head, body));
    pipe.on('data', (chunk: Buffer) => {
      if (!reader.push(chunk)) throw new Error('The host sent a broken frame.');
    });
    pipe.on('end', endWithHost);
    pipe.on('error', endWithHost);
    this.#writer.send(...packParcel('ready', {}));
    void startBundler();
  }

  #receive(head: unknown, body: Buffer): void {
    const parcel = openParcel(head, body, HOST_BOUNDS.bodyBytes);
    // A failure becomes an unhandled rejection and ends the process; the host sees the exit.
    if (parcel?.name === 'read') void this.#read(parcel);
    else if (parcel?.name === 'bundle') void this.#bundle(parcel);
    else throw new Error('The host sent an unknown message.');
  }

  async #read({ value, blobs }: Parcel): Promise<void> {
    const request = value as ReadRequest;
    this.#limits = request.limits;
    const { message, images, files } = await readUpload(openForm(request.form, blobs), request);
    this.#files = files;
    const contents = images.map(({ content }) => content);
    this.#writer.send(...packParcel('read', message, contents));
  }

  async #bundle({ value, blobs }: Parcel): Promise<void> {
    const { entry, mode, sdk, node, sdkEntries, worker: settings } = value as BundleRequest;
    const texts = [...sdk, ...node].map((name, at) => [name, String(blobs[at])] as const);
    const { worker, problems: told = [] } = settings ? detectWorker(this.#files, entry, settings) : {};
    const result = await bundleCode({
      files: {
        entry,
        upload: this.#files,
        sdk: new Map(texts.slice(0, sdk.length)),
        node: new Map(texts.slice(sdk.length)),
        sdkEntries: new Map(sdkEntries),
        ...(worker && { worker }),
      },
      mode,
      scriptBytes: this.#limits?.scriptBytes ?? 0,
      diskless: process.argv.includes(DISKLESS_FLAG),
    });
    const problems = [...told, ...(result.ok ? result.warnings : result.problems)];
    const built = result.ok ? [Buffer.from(result.script), Buffer.from(result.map)] : [];
    const message: BundleMessage = { ok: result.ok, problems };
    this.#writer.send(...packParcel('bundled', message, built));
  }
}

/** The host has exited: nothing else reads the result or stops an endless build. */
function endWithHost(): void {
  // Kills the process group, esbuild included.
  if (process.platform !== 'win32') process.kill(0, 'SIGKILL');
  process.exit();
}

/** Exits with 0 if esbuild starts and bundles in this confinement, else with 1. */
async function selfTest(): Promise<void> {
  const upload = new Map([['a.ts', Buffer.from('export default 1 as number;')]]);
  const files = { entry: 'a.ts', upload, sdk: new Map(), node: new Map(), sdkEntries: new Map() };
  const { ok } = await bundleCode({ files, mode: 'production', scriptBytes: 4_096, diskless: true });
  process.exit(ok ? 0 : 1);
}

if (process.argv.includes(SELF_TEST_FLAG)) void selfTest();
else new UploadProcess(new Socket({ fd: PIPE_FD }));
