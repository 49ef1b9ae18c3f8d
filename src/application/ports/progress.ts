/** The progress of a long operation. */
export type Progress = {
  readonly doing: 'backing up' | 'checking' | 'comparing' | 'exporting' | 'writing';
  /** The number of pets that are finished; of pages of the file in a backup. */
  readonly done: number;
  /** The number of pets in all, if it is known. */
  readonly total: number | undefined;
};

export type OnProgress = (progress: Progress) => void;
