/**
 * Undoes the content codings of an answer, as it is read and no faster.
 *
 * A kilobyte of gzip is a megabyte of text, and codings can be stacked: what comes out of each stage is counted, and a
 * stage only runs while the next one has room. Brotli needs more care: 53 bytes make its decoder fill 16 MiB of its own,
 * before anybody reads. So few of them run at once.
 */
import type { Duplex } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip } from 'node:zlib';
import { Deflated } from './deflate.ts';
import { EgressError } from './egress-error.ts';
import { HELD_BYTES } from './meter.ts';

/** Nobody stacks more in earnest. */
const CODINGS_MAX = 3;
const BROTLI_AT_ONCE = 16;
const KNOWN = /^(x-gzip|gzip|deflate|br)$/;

/** As browsers do: an answer whose last bytes a sloppy server left out is still read. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH, highWaterMark: HELD_BYTES };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH, highWaterMark: HELD_BYTES };

export class Decoding {
  #brotli = 0;

  /**
   * The stages that undo these codings, the first to run first; none where one of the codings is unknown, because the body
   * is then handed on as it came (Fetch, "handle content codings").
   * @param values of the headers `content-encoding`
   * @throws EgressError where they are too many
   */
  stages(values: readonly string[]): Duplex[] {
    const codings = values
      .flatMap((value) => value.split(','))
      .map((coding) => coding.trim().toLowerCase())
      .filter((coding) => coding !== '' && coding !== 'identity')
      .reverse();
    if (codings.length > CODINGS_MAX) throw new EgressError('The answer is compressed too many times over.');
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
