/** `node:readline/promises`. */
import { promises } from './readline.ts';

export const { Interface, Readline, createInterface } = promises;
export default promises;
