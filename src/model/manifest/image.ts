/**
 * The image formats of icons and previews, PNG and JPEG: checks an image of either, and says which
 * it is.
 *
 * The format follows from the bytes alone. Attack: a name or a declared type that makes a browser
 * read an image as a page.
 */
import { isJpeg, jpegSteps } from './jpeg.ts';
import { type ImageReading, pngSteps } from './png.ts';

/** In steps, between which the caller can yield to the event loop. */
export const imageSteps = (content: Uint8Array): Generator<void, ImageReading, void> =>
  isJpeg(content) ? jpegSteps(content) : pngSteps(content);

export function readImage(content: Uint8Array): ImageReading {
  const steps = imageSteps(content);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The media type of an image that was checked. */
export const imageType = (content: Uint8Array): 'image/png' | 'image/jpeg' =>
  isJpeg(content) ? 'image/jpeg' : 'image/png';
