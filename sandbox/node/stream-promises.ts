/** `node:stream/promises`. */
import promises from 'readable-stream/lib/stream/promises.js';

export const { finished, pipeline } = promises;
export default promises;
