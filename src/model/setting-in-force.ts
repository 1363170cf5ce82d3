/** A setting as a node was started with it, for the operator to read. */
export interface SettingInForce {
  readonly flag: string;
  /** Absent for a secret, and where nothing is set. */
  readonly value?: string;
  readonly origin: 'flag' | 'variable' | 'default';
  readonly isSecret: boolean;
  readonly help: string;
}
