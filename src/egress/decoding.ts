/**
 * Decodes the content codings of an answer, as it is read and no faster.
 *
 * Attack: decompression bombs. A kilobyte of gzip is a megabyte of text, and codings can be
 * stacked: the output of each stage is counted, and a stage only runs while the next one reads. 53
 * bytes of Brotli make its decoder allocate 16 MiB before anything is read, so few of them run at
 * once.
 */
import type { Duplex } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip } from 'node:zlib';
import { HELD_BYTES } from './byte-limit.ts';
import { Deflated } from './deflate.ts';
import { EgressError } from './egress-error.ts';

/** Real servers use one or two. */
const CODINGS_MAX = 3;
const BROTLI_AT_ONCE = 16;
const KNOWN = /^(x-gzip|gzip|deflate|br)$/;

/** Like browsers: an answer whose last bytes a server left out is still read. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH, highWaterMark: HELD_BYTES };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH, highWaterMark: HELD_BYTES };

export class Decoding {
  #brotli = 0;

  /**
   * The decoders of these codings, in the order in which they run. None if a coding is unknown: the
   * body is then passed on as received (Fetch, "handle content codings").
   *
   * @param values values of the headers `content-encoding`
   * @throws EgressError if there are too many
   */
  stages(values: readonly string[]): Duplex[] {
    const codings = values
      .flatMap((value) => value.split(','))
      .map((coding) => coding.trim().toLowerCase())
      .filter((coding) => coding !== '' && coding !== 'identity')
      .reverse();
    if (codings.length > CODINGS_MAX) throw new EgressError('The answer has too many layers of compression.');
    if (!codings.every((coding) => KNOWN.test(coding))) return [];
    if (this.#brotli + codings.filter((coding) => coding === 'br').length > BROTLI_AT_ONCE)
      throw new EgressError('Too many answers in Brotli are being read; ask for gzip instead.', {
        result: 'shed',
      });
    return codings.map((coding) => this.#stage(coding));
  }

  #stage(coding: string): Duplex {
    if (coding === 'deflate') return new Deflated(ZLIB);
    if (coding !== 'br') return createGunzip(ZLIB);
    this.#brotli += 1;
    return createBrotliDecompress(BROTLI).once('close', () => {
      this.#brotli -= 1;
    });
  }
}
