/** What one check of `annex doctor` found. */
export interface Finding {
  readonly check: string;
  /** `failed` keeps something from working; `warning` does not. */
  readonly state: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; absent if nothing is. */
  readonly fix?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail });

export const warning = (check: string, detail: string, fix: string): Finding => ({
  check,
  state: 'warning',
  detail,
  fix,
});

export const failed = (check: string, detail: string, fix: string): Finding => ({
  check,
  state: 'failed',
  detail,
  fix,
});
