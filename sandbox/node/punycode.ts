/**
 * `node:punycode`: the package of the same name, which Node.js has a copy of.
 */
import punycode from 'punycode';

export const { version, ucs2, decode, encode, toASCII, toUnicode } = punycode;
export default punycode;
