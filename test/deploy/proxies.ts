import { userInfo } from 'node:os';

/** Directories that nginx makes, whether it uses them or not. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export type Proxy = (typeof PROXIES)[number];

/**
 * The proxies of `deploy`.
 *
 * - `file`: the configuration; its folder has the name of the program
 * - `here`: texts of the configuration, and what takes their place on this machine
 * - `tls`: the same, for a second port that speaks TLS
 * - `brief`: the same, for short time limits of an idle connection to an instance and of a body
 * - `connections`: how many it makes for four requests, one after the other
 * - `down` and `up`: what the proxy prints when it notices that the instance N at ADDRESS stops and is back. nginx prints
 *   nothing
 */
export const PROXIES = [
  {
    file: 'haproxy/haproxy.cfg',
    run: (path: string) => ['-f', path],
    here: (port: number, _folder: string) => ({
      '${BIND-:8080}': `127.0.0.1:${port}`,
      'petstore-1:3000': '127.0.0.1:3001',
      'petstore-2:3000': '127.0.0.1:3002',
      // A check or a request never fails because the machine is slow. After a failed check, the next ones follow faster.
      'timeout http-request 10s': 'timeout http-request 1m\n  timeout check 30s',
      'timeout connect 1s': 'timeout connect 30s',
      'inter 2s': 'inter 2s fastinter 100ms downinter 100ms',
    }),
    tls: (port: number, pem: string) => ({ 'bind "': `bind 127.0.0.1:${port} ssl crt ${pem}\n  bind "` }),
    brief: { 'http-request 1m': 'http-request 1s' },
    connections: 4,
    down: 'Server petstore/petstore-N is DOWN',
    up: 'Server petstore/petstore-N is UP',
  },
  {
    file: 'nginx/nginx.conf',
    run: (path: string) => ['-e', 'stderr', '-c', path, '-g', `daemon off; pid ${path}.pid;`],
    here: (port: number, folder: string) => ({
      'http {': `http {${TEMPORARY.map((name) => ` ${name}_temp_path ${folder}/${name};`).join('')}`,
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
    brief: {
      'keepalive_timeout 30s': 'keepalive_timeout 1s',
      'client_body_timeout 10s': 'client_body_timeout 1s',
      'worker_processes auto': 'worker_processes 1',
    },
    connections: 1,
    down: '',
    up: '',
  },
  {
    file: 'caddy/Caddyfile',
    run: (path: string) => ['run', '--adapter', 'caddyfile', '--config', path],
    here: (port: number, _folder: string) => ({
      'http://:8080 {': `http://:${port} {\n\tbind 127.0.0.1`,
      '\tservers {': '\tadmin off\n\tpersist_config off\n\tauto_https disable_redirects\n\tservers {',
      'health_interval 2s': 'health_interval 100ms',
    }),
    tls: (port: number, pem: string) => ({
      '# https://petstore.example {\n# ': `https://petstore.example:${port} {\n`,
      '/etc/caddy/cert.pem /etc/caddy/key.pem\n# \timport petstore\n# }': `${pem} ${pem}\n\timport petstore\n}`,
    }),
    brief: {
      'keepalive 30s': 'keepalive 1s',
      'read_body 10s': 'read_body 1s',
      'health_interval 100ms': 'health_interval 1h',
    },
    connections: 1,
    down: '(?:"unexpected status code"[^\\n]*ADDRESS[^]*?){11}',
    up: '"host is up"[^\\n]*ADDRESS',
  },
] as const;
