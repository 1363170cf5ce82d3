/**
 * `atob` and `btoa` (https://html.spec.whatwg.org/multipage/webappapis.html#atob), on top of the engine's own base64.
 */
import { DOMException } from './dom-exception.ts';
import { requireArguments, toDOMString } from './web-idl.ts';

const CHUNK = 4_096;

/** Binary string to base64. */
export function btoa(data: unknown): string {
  requireArguments(arguments.length, 1, 'btoa');
  const text = toDOMString(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff) throw new DOMException('btoa: a character is above U+00FF', 'InvalidCharacterError');
    bytes[i] = code;
  }
  return bytes.toBase64();
}

/** Base64 to binary string. ASCII white space is ignored, padding may be missing, stray last bits are dropped. */
export function atob(data: unknown): string {
  requireArguments(arguments.length, 1, 'atob');
  const text = toDOMString(data);
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(text, { lastChunkHandling: 'loose' });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new DOMException('atob: the text is not correctly encoded base64', 'InvalidCharacterError');
  }
  let binary = '';
  for (let i = 0; i < bytes.length; i += CHUNK)
    binary += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  return binary;
}
