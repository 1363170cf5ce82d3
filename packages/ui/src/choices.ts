/** The choices of a combo box: those of a list, or those that are read while it is open. */

export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly icon?: string;
}

/** What the user has done that decides which choices are offered. */
export interface AskedChoices {
  readonly search: string;
  readonly open: boolean;
  /** Whether something is chosen whose name is not known. */
  readonly isUnnamed: boolean;
}

/** The choices that are known now. */
export interface OfferedChoices {
  readonly choices: readonly Choice[];
  /** What is chosen, with names, though no page that was read has it. */
  readonly selected: readonly Choice[];
  readonly loading: boolean;
  readonly failed: boolean;
  /** Reads the next page; absent behind the last. */
  readonly more?: (() => void) | undefined;
}

/** Choices that are all known. */
export const listOf = (choices: readonly Choice[]): OfferedChoices => ({
  ...{ choices, selected: [], loading: false, failed: false },
});

/** Choices whose label has the text. */
export const matching = (choices: readonly Choice[], search: string): readonly Choice[] => {
  const wanted = search.trim().toLowerCase();
  return wanted === '' ? choices : choices.filter(({ label }) => label.toLowerCase().includes(wanted));
};
