/** How far a long piece of work is. */
export type Progress = {
  readonly doing: 'backing up' | 'checking' | 'comparing' | 'exporting' | 'writing';
  /** The number of pets that are done; of pages of the file in a backup. */
  readonly done: number;
  /** Of how many, where that is known. */
  readonly total: number | undefined;
};

export type OnProgress = (progress: Progress) => void;
