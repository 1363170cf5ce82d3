/**
 * A process that makes a folder for cells in the folder that it is given, prints its path, and
 * lives until it is killed.
 */
import { makeCellFolder } from '../../../src/host/launch/cell-folder.ts';

const { path } = await makeCellFolder(process.argv[2]);
process.stdout.write(`${path}\n`);
setInterval(() => undefined, 60_000);
