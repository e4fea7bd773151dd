// nginx and haproxy: the programs on PATH, else from the Debian packages, unpacked once into the user's cache.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { cacheDirectory, missingIn } from '../../tools/control-plane/cache.ts'
import { unpackFromDebian } from '../../tools/prometheus/debian.ts'

/** A program, and the variables that it needs to find its libraries. */
export interface ProxyProgram {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
}

/** The proxies that pass requests on without authenticating them. */
export type ProxyName = 'nginx' | 'haproxy'

/** Each package, and the packages of libraries that a machine with apt-get may lack. */
const PACKAGES: Readonly<Record<ProxyName, readonly [string, ...string[]]>> = {
  nginx: ['nginx', 'libpcre2-8-0', 'libssl3'],
  haproxy: [
    'haproxy',
    'libpcre2-8-0',
    'libssl3',
    'liblua5.3-0',
    'libopentracing-c-wrapper0',
    'libopentracing1',
  ],
}

/** Finds a proxy, or fetches it. @throws Error where neither works, with the reason */
export async function findProxy(
  name: ProxyName,
  log: (line: string) => void,
): Promise<ProxyProgram> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  const folder = folders.find((one) => one !== '' && missingIn(one, [name]).length === 0)
  return folder === undefined ? fromDebian(name, log) : { path: join(folder, name), env: {} }
}

async function fromDebian(name: ProxyName, log: (line: string) => void): Promise<ProxyProgram> {
  if (missingIn('/usr/bin', ['apt-get', 'dpkg-deb']).length > 0)
    throw new Error(`no ${name} on PATH, and no apt-get to fetch it with`)
  const names = PACKAGES[name]
  // A package is built for one release of its distribution: another gets a folder of its own.
  const pins = [
    readFileSync('/etc/os-release'),
    execFileSync('dpkg', ['--print-architecture']),
    ...names,
  ]
  const into = cacheDirectory(name, process.env, homedir(), pins)
  const path = join(into, 'usr/sbin', name)
  await unpackFromDebian({ names, into, isThere: () => existsSync(path), log })
  return { path, env: { LD_LIBRARY_PATH: libraryFolders(into) } }
}

/** The folders of an architecture's libraries, such as `usr/lib/x86_64-linux-gnu`. */
const libraryFolders = (root: string): string =>
  globSync('{usr/lib,lib}/*-linux-gnu*', { cwd: root })
    .map((folder) => join(root, folder))
    .join(delimiter)
