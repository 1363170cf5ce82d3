/**
 * What is said on the pipe between the host and the process of one upload.
 *
 *   process → host   ready                           it is up: what kills it from now on is the upload
 *   host → process   read     form, limits, rules
 *   process → host   read     what the upload is, without its code (`reading/reading.ts`)
 *   host → process   bundle   entrypoint, mode, the SDK
 *   process → host   bundled  script and map, or problems (`bundle-result.ts`)
 */
import type { Limits } from '../limits.ts';
import type { ManifestRules } from '../model/manifest/manifest.ts';
import type { packForm } from './upload-form.ts';

/** Descriptor of the pipe in the process. */
export const PIPE_FD = 3;

/** JSON of `read`, as the host sends it. */
export interface ReadRequest {
  readonly form: ReturnType<typeof packForm>['index'];
  readonly limits: Limits;
  readonly rules: ManifestRules;
}

/** JSON of `bundle`; the sources of the SDK follow as bytes. */
export interface BundleRequest {
  /** Path of the entrypoint inside the upload. */
  readonly entry: string;
  /** Value of `MODE` and `process.env.NODE_ENV`. */
  readonly mode: string;
  readonly sdk: readonly string[];
  /** Import specifier of the SDK → file of it. */
  readonly sdkEntries: readonly (readonly [specifier: string, file: string])[];
}

const MIB = 1024 * 1024;
/** JSON that the host parses of one message: problems, a manifest, places; secrets are counted apart. */
const JSON_BYTES_MAX = 4 * MIB;
/** A byte of a text is at most six in JSON. */
const JSON_BYTES_PER_BYTE = 6;

/** Most that the host takes of a process in one message. */
export function answerBounds({ uploadBytes, scriptBytes, secretsPerIntegration, secretBytes }: Limits) {
  const jsonBytes = JSON_BYTES_MAX + secretsPerIntegration * secretBytes * JSON_BYTES_PER_BYTE;
  return {
    headBytes: 256 * 1024,
    bodyBytes: jsonBytes + Math.max(uploadBytes, scriptBytes + MIB),
    jsonBytes,
  };
}
