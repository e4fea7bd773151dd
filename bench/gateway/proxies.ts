// nginx and haproxy before an API server: TLS both ways, connections kept both ways, one process with one thread, no log
// of requests. They authenticate nobody: the credential of the caller passes.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Running, startPeer } from '../measure/peer-process.ts'
import { type ProxyName, findProxy } from './proxy-programs.ts'

/** The configuration of a proxy. */
export interface ProxyOptions {
  /** The port on 127.0.0.1 that it listens on. */
  readonly port: number
  /** The API server's host and port. */
  readonly upstream: string
  /** The CA of the API server's certificate, which names the host `localhost`. */
  readonly caFile: string
  /** Files with the certificate that it shows, and its key. */
  readonly certificateFile: string
  readonly keyFile: string
  /** One file with both, the certificate and its key. */
  readonly pairFile: string
  /** A folder for its files. */
  readonly folder: string
  /** Whether the API server answers through it. */
  readonly answers: () => Promise<boolean>
  readonly log: (line: string) => void
}

/** Starts a proxy, and fetches it first where needed. @throws Error if it is not available or does not answer */
export async function startProxy(name: ProxyName, options: ProxyOptions): Promise<Running> {
  const { path, env } = await findProxy(name, options.log)
  const folder = join(options.folder, name)
  await mkdir(folder)
  const file = join(folder, `${name}.conf`)
  await writeFile(file, CONFIGURATIONS[name](options, folder))
  return startPeer(path, argumentsOf(name, file), env, options.answers)
}

const argumentsOf = (name: ProxyName, file: string): readonly string[] =>
  name === 'nginx' ? ['-e', 'stderr', '-c', file] : ['-db', '-f', file]

const CONFIGURATIONS: Readonly<
  Record<ProxyName, (options: ProxyOptions, folder: string) => string>
> = {
  // Without a master the only process is what a worker is otherwise. Without buffers, as an event of a watch would
  // wait in them.
  nginx: ({ port, upstream, caFile, certificateFile, keyFile }, folder) => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `  ${one}_temp_path ${folder}/${one};`).join('\n')}
  keepalive_requests 1000000000;
  upstream api {
    server ${upstream};
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} ssl backlog=1024;
    ssl_certificate ${certificateFile};
    ssl_certificate_key ${keyFile};
    ssl_protocols TLSv1.2 TLSv1.3;
    location / {
      proxy_pass https://api;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_ssl_protocols TLSv1.2 TLSv1.3;
      proxy_ssl_verify on;
      proxy_ssl_trusted_certificate ${caFile};
      proxy_ssl_name localhost;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`,
  haproxy: ({ port, upstream, caFile, pairFile }) => `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend callers
  bind 127.0.0.1:${port} ssl crt ${pairFile} alpn http/1.1 backlog 1024
  default_backend api
backend api
  http-reuse always
  server api ${upstream} ssl ca-file ${caFile} verify required verifyhost localhost alpn http/1.1
`,
}
