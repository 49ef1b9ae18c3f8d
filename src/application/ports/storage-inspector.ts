/** Something that is wrong with a storage. */
export type Finding = {
  /** Such as `pet 7`, `API key 0123456789abcdef` or `index "idem.k_1"`. */
  readonly about: string;
  /** One line, without the contents of records. */
  readonly problem: string;
};

/** Examines what holds the pets and API keys, such as the schema and the indexes. Changes nothing. */
export interface StorageInspector {
  /**
   * What is wrong, apart from the records that `PetArchive` and `ApiKeyRepository` report as damaged.
   *
   * @throws {StorageUnavailable} including when the damage prevents the examination
   */
  findings(): AsyncIterable<Finding>;
}
