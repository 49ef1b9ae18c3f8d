import { describe, expect, it } from 'vitest';
import { unusedVariableWarnings } from '../../../src/main/config/without-effect.ts';
import { VARIABLE_NAMES } from '../../../src/main/config/variables.ts';
import { join } from 'node:path';
import { mkdir, writeFile } from 'node:fs/promises';
import { ROOT, run, SERVICE_ENV } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

it.each([
  ['PROT', 'PORT'],
  ['OPRT', 'PORT'],
  ['API_KEY', 'API_KEYS'],
  ['PI_KEYS', 'API_KEYS'],
  ['XAPI_KEYS', 'API_KEYS'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE-URL', 'DATABASE_URL'],
  ['TLS_KYE', 'TLS_KEY'],
])('a warning asks whether %s is a misspelt %s', (given, meant) => {
  const warning = `the variable ${given} has no effect; is it a misspelt ${meant}?`;
  expect(unusedVariableWarnings({ PATH: '/bin', [given]: 'x', PORT: '1' })).toStrictEqual([warning]);
});

// Variables of shells, desktops, systemd, containers, Kubernetes, CI, Node, npm and proxies, and variables of other
// programs whose names are similar to those of the service.
const FOREIGN_NAMES =
  `HOME HOSTNAME HOSTTYPE PATH PWD SHELL SHLVL TERM LANG LC_ALL USER LOGNAME MAIL EDITOR PAGER DISPLAY
  _ TZ PS1 IFS OLDPWD TMPDIR XDG_SESSION_ID SSH_TTY SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS COLORTERM LS_COLORS
  INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET LISTEN_PID STATE_DIRECTORY MEMORY_PRESSURE_WATCH SYSTEMD_EXEC_PID MAINPID
  KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT PETSTORE_PORT PETSTORE_SERVICE_HOST DB_PORT POD_NAME
  CI GITHUB_ACTIONS GITHUB_TOKEN RUNNER_OS GITLAB_CI BUILD_NUMBER NODE NODE_ENV NODE_OPTIONS NODE_VERSION NODE_PATH
  npm_config_cache npm_lifecycle_event INIT_CWD NO_COLOR DEBUG HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE
  MONGODB_URI REDIS_URL PGHOST PGPORT MYSQL_HOST LOGLEVEL2
  METRICS_PATH WEB_CONCURRENCY OTEL_SERVICE_NAME OTEL_TRACES_EXPORTER OTEL_LOG_LEVEL TLS_CA TLS_CERT_FILE`.split(
    /\s+/,
  );

it('no warning is about a variable of another program, a variable of the service, or an empty variable', () => {
  const variables = Object.fromEntries([...FOREIGN_NAMES, ...VARIABLE_NAMES].map((name) => [name, 'x']));
  expect(unusedVariableWarnings({ ...variables, PROT: '', API_KEY: undefined })).toStrictEqual([]);
});

describe('a .env file in the working directory', () => {
  const FILE = 'PORT=0\nSHUTDOWN_DELAY=1s\nLOG_LEVEL=\nOTEL_SERVICE_NAME=zoo\nEDITOR=vi\n';
  const WARNING =
    'the file .env sets SHUTDOWN_DELAY, OTEL_SERVICE_NAME, but is not read; add --env .env to read it';
  const env = { ...SERVICE_ENV, API_KEYS: '0123456789abcdef' };

  async function startInDirectoryWith(makeEnv: (path: string) => Promise<unknown>, args: readonly string[]) {
    const directory = await testDirectory();
    await makeEnv(join(directory, '.env'));
    return run(process.execPath, [join(ROOT, 'bin/petstore.js'), ...args], env, directory);
  }

  const writeEnv = (path: string) => writeFile(path, FILE);
  const makePipe = (path: string) => run('mkfifo', [path]).succeeded();

  it.each([
    ['causes a warning with its variables when --env does not name it', writeEnv, [], [WARNING]],
    ['causes no warning when --env names the file', writeEnv, ['--env', '.env'], []],
    ['causes no warning when it is a directory', mkdir, [], []],
    ['causes neither a warning nor a delay when it is a named pipe', makePipe, [], []],
  ])('%s', async (_, makeEnv, args, warnings) => {
    const service = await startInDirectoryWith(makeEnv, args);
    await service.url();
    expect(service.log.slice(0, -1).map(({ level, msg }) => [level, msg])).toStrictEqual(
      warnings.map((line) => [40, line]),
    );
  });

  it('causes a warning from a command when --env does not name the file', async () => {
    const command = await startInDirectoryWith(writeEnv, ['export']);
    await command.ended;
    expect(command.stderr.split('\n')[0]).toBe(`petstore: ${WARNING}`);
  });
});
