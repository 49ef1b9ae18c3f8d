import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';

/** A pet as it stands in the file. JSON has no int64, so integers are text. */
export type PetRecord = {
  readonly id: string;
  readonly name: string;
  readonly categoryId: string;
  readonly status: string;
  readonly key?: string;
  readonly fingerprint?: string;
};

/** An API key as it stands in the file. Times are in milliseconds since 1970. */
export type KeyRecord = { readonly id: string; readonly [field: string]: unknown };

export type Content = {
  lastId: string;
  /** In ascending order of id. */
  pets: PetRecord[];
  keys: KeyRecord[];
};

const EMPTY: Content = { lastId: '0', pets: [], keys: [] };

/** The content of a JSON file. Every access reads it anew, and every change replaces the file. */
export class JsonFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws {StorageUnavailable} */
  read(): Content {
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as Content;
    } catch (error) {
      if (isMissing(error)) return structuredClone(EMPTY);
      throw new StorageUnavailable('the JSON file cannot be read', { cause: error });
    }
  }

  /**
   * @returns what `work` returns. When it throws, the file stays as it is
   * @throws {StorageUnavailable}
   */
  change<T>(work: (content: Content) => T): T {
    const content = this.read();
    const result = work(content);
    const next = `${this.#path}.${randomUUID()}`;
    try {
      writeFileSync(next, JSON.stringify(content), { flush: true });
      renameSync(next, this.#path);
    } catch (error) {
      throw new StorageUnavailable('the JSON file cannot be written', { cause: error });
    }
    return result;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
