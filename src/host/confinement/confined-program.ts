/** What is confined: one program, and all that it may see of the file system. */

/** A program to confine, and the files it needs: a file system of its own holds no others. */
export interface ConfinedProgram {
  readonly path: string;
  readonly args: readonly string[];
  /** Paths of files and folders. */
  readonly files: readonly string[];
}
