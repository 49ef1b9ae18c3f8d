/** How far a long piece of work is. */
export type Progress = {
  readonly doing: 'checking' | 'comparing' | 'exporting' | 'writing';
  /** How many pets are done. */
  readonly done: number;
  /** Of how many, where that is known. */
  readonly total: number | undefined;
};

export type OnProgress = (progress: Progress) => void;
