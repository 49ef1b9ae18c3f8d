import { userInfo } from 'node:os';

/** The directories that nginx makes, even if it does not use them. */
const TEMPORARY_DIRECTORIES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export type Proxy = (typeof PROXIES)[number];

/**
 * The proxies of `deploy`.
 *
 * - `file`: the configuration; its folder has the name of the program
 * - `localTexts`: texts of the configuration, each with its replacement on this machine
 * - `tls`: texts with their replacements for a second port that speaks TLS
 * - `shortTimeouts`: texts with their replacements for short timeouts of idle connections to an instance and of bodies
 * - `connectionCount`: how many connections to an instance the proxy makes for four consecutive requests
 * - `downPattern`: a pattern of what the proxy prints when it notices that the instance N at ADDRESS has stopped
 * - `upPattern`: a pattern of what the proxy prints when it notices that this instance runs again. nginx prints nothing
 */
export const PROXIES = [
  {
    file: 'haproxy/haproxy.cfg',
    run: (path: string) => ['-f', path],
    localTexts: (port: number, _folder: string) => ({
      '${BIND-:8080}': `127.0.0.1:${port}`,
      'petstore-1:3000': '127.0.0.1:3001',
      'petstore-2:3000': '127.0.0.1:3002',
      // Long timeouts, so that no check or request fails on a slow machine. The checks after a failed check are faster.
      'timeout http-request 10s': 'timeout http-request 1m\n  timeout check 30s',
      'timeout connect 1s': 'timeout connect 30s',
      'inter 2s': 'inter 2s fastinter 100ms downinter 100ms',
    }),
    tls: (port: number, pem: string) => ({ 'bind "': `bind 127.0.0.1:${port} ssl crt ${pem}\n  bind "` }),
    shortTimeouts: { 'http-request 1m': 'http-request 1s' },
    connectionCount: 4,
    downPattern: 'Server petstore/petstore-N is DOWN',
    upPattern: 'Server petstore/petstore-N is UP',
  },
  {
    file: 'nginx/nginx.conf',
    run: (path: string) => ['-e', 'stderr', '-c', path, '-g', `daemon off; pid ${path}.pid;`],
    localTexts: (port: number, folder: string) => ({
      'http {': `http {${TEMPORARY_DIRECTORIES.map((name) => ` ${name}_temp_path ${folder}/${name};`).join('')}`,
      'listen 8080': `listen 127.0.0.1:${port}`,
      '/run/petstore-out': folder,
      'www-data': userInfo().username,
      '/var/log/nginx/access.log': 'off',
    }),
    tls: (port: number, pem: string) => ({
      '# listen 8443': `listen 127.0.0.1:${port}`,
      '# ssl_certificate /etc/nginx/cert.pem': `ssl_certificate ${pem}`,
      '# ssl_certificate_key /etc/nginx/key.pem': `ssl_certificate_key ${pem}`,
    }),
    shortTimeouts: {
      'keepalive_timeout 30s': 'keepalive_timeout 1s',
      'client_body_timeout 10s': 'client_body_timeout 1s',
      'worker_processes auto': 'worker_processes 1',
    },
    connectionCount: 1,
    downPattern: '',
    upPattern: '',
  },
  {
    file: 'caddy/Caddyfile',
    run: (path: string) => ['run', '--adapter', 'caddyfile', '--config', path],
    localTexts: (port: number, _folder: string) => ({
      'http://:8080 {': `http://:${port} {\n\tbind 127.0.0.1`,
      '\tservers {': '\tadmin off\n\tpersist_config off\n\tauto_https disable_redirects\n\tservers {',
      'health_interval 2s': 'health_interval 100ms',
    }),
    tls: (port: number, pem: string) => ({
      '# https://petstore.example {\n# ': `https://petstore.example:${port} {\n`,
      '/etc/caddy/cert.pem /etc/caddy/key.pem\n# \timport petstore\n# }': `${pem} ${pem}\n\timport petstore\n}`,
    }),
    shortTimeouts: {
      'keepalive 30s': 'keepalive 1s',
      'read_body 10s': 'read_body 1s',
      'health_interval 100ms': 'health_interval 1h',
    },
    connectionCount: 1,
    downPattern: '(?:"unexpected status code"[^\\n]*ADDRESS[^]*?){11}',
    upPattern: '"host is up"[^\\n]*ADDRESS',
  },
] as const;
