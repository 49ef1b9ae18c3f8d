import type { StorageKind } from '../../application/ports/storage-kind.ts';

export function mongodbStorage(program: string): StorageKind {
  const open = async (url: string) => (await import('./open.ts')).openMongoArchive(url, program);
  return {
    name: 'MongoDB',
    system: 'mongodb',
    urlForm: 'mongodb://HOST/DATABASE',
    persistent: true,
    shared: true,
    isUrl: (url) => SCHEME.test(url) && urlProblem(url) === undefined,
    hasCertificates: (url) => /[?&]tls(?:ca|crl|certificatekey)file=/i.test(url),
    urlProblem: (url) => (SCHEME.test(url) ? urlProblem(url) : undefined),
    openService: async (url, options) => (await import('./open.ts')).openMongoStorage(url, options, program),
    openForReading: open,
    openForChecking: open,
    openForWriting: open,
    openKeys: open,
    async migrate(url) {
      const { migrate } = await import('./migrate.ts');
      return migrate(url, program);
    },
    tools: { backUp: 'mongodump --oplog or snapshots of its volumes', restore: 'mongorestore' },
  };
}

const SCHEME = /^mongodb(?:\+srv)?:\/\//;

/** The user and password stand before the host: https://www.mongodb.com/docs/manual/reference/connection-string/ */
function urlProblem(url: string): string | undefined {
  const [, user = '', hostAndPath = ''] = /^([^@/?#]*@)?(.*)$/s.exec(url.replace(SCHEME, '')) ?? [];
  // Without the options, which may contain an @.
  const [address = ''] = hostAndPath.split(/(?<=\/[^/?@]+)\?(?=\w+=)/, 1);
  if (address.includes('@') || hostAndPath.includes('#') || /%(?![\da-f]{2})|:.*:/is.test(user)) {
    return 'must have its user and password percent-encoded: %40 for @, %3A for :, %25 for %, %3F for ?, %2F for /, %23 for #';
  }
  return /^[^/?]+\/[^?]/.test(hostAndPath)
    ? undefined
    : 'must end with the name of a database: mongodb://HOST/DATABASE';
}
