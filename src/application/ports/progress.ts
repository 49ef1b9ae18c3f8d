/** The progress of a long operation. */
export type Progress = {
  readonly doing: 'backing up' | 'checking' | 'comparing' | 'exporting' | 'restoring' | 'writing';
  /** How many pets are done; in a backup or restore, how many pages of the file. */
  readonly done: number;
  /** How many there are in total, if that is known. */
  readonly total: number | undefined;
};

export type OnProgress = (progress: Progress) => void;
