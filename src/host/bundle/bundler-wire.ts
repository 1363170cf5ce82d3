/**
 * Messages on the pipe between the host and the process of one upload.
 *
 *   process → host   ready    started; a later death counts against the upload
 *   host → process   read     form, limits, rules
 *   process → host   read     manifest, secrets, images and problems (`reading/reading.ts`)
 *   host → process   bundle   entrypoint, mode, the SDK, the modules of Node.js
 *   process → host   bundled  script and map, or problems (`bundle-result.ts`)
 */
import type { Limits } from '../../limits.ts';
import type { ManifestRules } from '../../model/manifest/manifest.ts';
import type { WorkerSettings } from '../../model/manifest/worker.ts';
import type { packForm } from './upload-form.ts';

/** Descriptor of the pipe in the process. */
export const PIPE_FD = 3;

/** JSON of the host's `read`; the parts of the form follow as bytes. */
export interface ReadRequest {
  readonly form: ReturnType<typeof packForm>['index'];
  readonly limits: Limits;
  readonly rules: ManifestRules;
}

/** JSON of `bundle`; the sources of the SDK and of the modules of Node.js follow as bytes. */
export interface BundleRequest {
  /** Path of the entrypoint inside the upload. */
  readonly entry: string;
  /** Value of `MODE` and `process.env.NODE_ENV`. */
  readonly mode: string;
  readonly sdk: readonly string[];
  /** Paths of `node-source.ts`. */
  readonly node: readonly string[];
  /** Import specifier of the SDK → file name in `sdk`. */
  readonly sdkEntries: readonly (readonly [specifier: string, file: string])[];
  /** What the manifest says of the code as a worker; absent where it has errors. */
  readonly worker?: WorkerSettings & {
    /** Folder of the manifest, with a slash at its end; empty for the root. */
    readonly folder: string;
  };
}

const MIB = 1024 * 1024;
/** Most JSON in one message: problems, a manifest, positions. Secrets are added to it. */
const JSON_BYTES_MAX = 4 * MIB;
/** JSON escapes a byte of text as at most six bytes. */
const JSON_BYTES_PER_BYTE = 6;

/** Size limits, in bytes, of one message from the process. */
export function answerBounds({ uploadBytes, scriptBytes, secretsPerIntegration, secretBytes }: Limits) {
  const jsonBytes = JSON_BYTES_MAX + secretsPerIntegration * secretBytes * JSON_BYTES_PER_BYTE;
  return {
    headBytes: 256 * 1024,
    bodyBytes: jsonBytes + Math.max(uploadBytes, scriptBytes + MIB),
    jsonBytes,
  };
}
