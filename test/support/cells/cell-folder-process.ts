/** A process that has made a folder for cells in the folder it is told of: says which, and lives until it is killed. */
import { makeCellFolder } from '../../../src/launch/cell-folder.ts';

const { path } = await makeCellFolder(process.argv[2]);
process.stdout.write(`${path}\n`);
setInterval(() => undefined, 60_000);
