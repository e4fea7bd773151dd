// PostgreSQL and MariaDB as Debian ships them, unpacked without installing them and run as a user without rights, with data in a
// folder that goes away with them.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createServer, type AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { closeDatabases, openDatabases } from '../../src/audit/store/databases.ts'
import type { ServerEndpoint } from '../../src/domain/settings/store-endpoint.ts'
import { cacheDirectory, missingIn } from '../../tools/control-plane/cache.ts'
import { unpackFromDebian } from '../../tools/prometheus/debian.ts'
import { eventually } from './eventually.ts'

/** A kind of database server. */
export type DatabaseKind = 'postgres' | 'mariadb'

/** Packages of Debian 12, with the libraries that few machines have; and the program of the server in them. */
const PACKAGES = {
  postgres: {
    names: ['postgresql-15', 'libpq5', 'libllvm14'],
    folder: 'usr/lib/postgresql/15/bin',
    program: 'postgres',
  },
  mariadb: {
    names: ['mariadb-server-core', 'mariadb-server', 'mariadb-client-core', 'liburing2', 'libaio1'],
    folder: 'usr/sbin',
    program: 'mariadbd',
  },
} as const

/** The folder of the unpacked packages. @throws Error where apt-get can't fetch them */
export async function ensureDatabase(
  kind: DatabaseKind,
  log: (line: string) => void,
): Promise<string> {
  const { names, folder, program } = PACKAGES[kind]
  if (missingIn('/usr/bin', ['apt-get', 'dpkg-deb', 'setpriv']).length > 0)
    throw new Error(`no ${kind} here, and no apt-get and setpriv to run it with`)
  const pins = [readFileSync('/etc/os-release'), names.join()]
  const into = cacheDirectory(kind, process.env, homedir(), pins)
  const isThere = (): boolean => missingIn(join(into, folder), [program]).length === 0
  await unpackFromDebian({ names: [...names], into, isThere, log })
  return into
}

const run = promisify(execFile)

/** The user `nobody`: both servers refuse to be root. */
const NOBODY = 65_534

const isRoot = process.getuid?.() === 0

/** A server of one database `audit`, of a user `audit`. */
export class DatabaseServer {
  readonly #kind: DatabaseKind
  readonly #folder: string
  readonly #port: number
  #process: ChildProcess | null = null

  private constructor(kind: DatabaseKind, folder: string, port: number) {
    this.#kind = kind
    this.#folder = folder
    this.#port = port
  }

  /** Makes an empty server, and starts it. @param packages as ensureDatabase unpacked them */
  static async create(kind: DatabaseKind, packages: string): Promise<DatabaseServer> {
    const folder = mkdtempSync(join(tmpdir(), `audit-${kind}-`))
    chmodSync(folder, 0o755)
    // Another user can't reach the cache in this one's home: the same files stand here, too.
    await run('cp', ['-al', packages, join(folder, 'files')]).catch(() =>
      run('cp', ['-a', packages, join(folder, 'files')]),
    )
    mkdirSync(join(folder, 'run'))
    if (isRoot) chownSync(join(folder, 'run'), NOBODY, NOBODY)
    const server = new DatabaseServer(kind, folder, await freePort())
    try {
      await server.#initialize()
      await server.start()
      return server
    } catch (error) {
      await server.remove()
      throw error
    }
  }

  /** Another database of the server, without tables. */
  endpoint(database = 'audit'): ServerEndpoint {
    return {
      kind: this.#kind === 'postgres' ? 'postgres' : 'mysql',
      host: '127.0.0.1',
      port: this.#port,
      user: 'audit',
      password: PASSWORD,
      database,
      tls: 'off',
      rootCertificates: null,
    }
  }

  /** Starts it, and waits until it answers. */
  async start(): Promise<void> {
    const [program = '', ...args] = this.#command()
    this.#process = spawn(program, args, { env: this.#env(), stdio: 'ignore', cwd: this.#run })
    await eventually(`${this.#kind} answers`, () => answers(this.endpoint()), { withinMs: 60_000 })
  }

  /** Ends it. */
  async stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const stopped = this.#process
    this.#process = null
    if (stopped === null || stopped.exitCode !== null) return
    const ended = new Promise((resolve) => stopped.once('exit', resolve))
    stopped.kill(this.#kind === 'mariadb' && signal === 'SIGINT' ? 'SIGTERM' : signal)
    await ended
  }

  /** Lets it hang: connections stay, and nothing is answered. */
  hang(): void {
    // Its backends are processes of their own, and would go on answering.
    this.#signalAll('STOP')
  }

  /** Lets it go on. */
  goOn(): void {
    this.#signalAll('CONT')
  }

  /** Ends it, and removes its data. */
  async remove(): Promise<void> {
    this.goOn()
    await this.stop('SIGINT')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get #run(): string {
    return join(this.#folder, 'run')
  }

  #signalAll(signal: 'STOP' | 'CONT'): void {
    const pid = this.#process?.pid
    if (pid === undefined) return
    const children = childrenOf(pid)
    for (const one of [pid, ...children]) process.kill(one, `SIG${signal}`)
  }

  #asNobody(command: readonly string[]): readonly string[] {
    const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
    return isRoot ? ['/usr/bin/setpriv', ...user, ...command] : command
  }

  #env() {
    const libraries = ['usr/lib', 'lib'].flatMap((lib) =>
      ['x86_64', 'aarch64'].map((machine) =>
        join(this.#folder, 'files', lib, `${machine}-linux-gnu`),
      ),
    )
    return {
      LD_LIBRARY_PATH: libraries.join(':'),
      LC_ALL: 'C',
      HOME: this.#run,
      PATH: `${this.#bin}:/usr/bin:/bin`,
    }
  }

  get #bin(): string {
    const { folder } = PACKAGES[this.#kind]
    return join(this.#folder, 'files', this.#kind === 'postgres' ? folder : 'usr/bin')
  }

  #command(): readonly string[] {
    const data = join(this.#run, 'data')
    if (this.#kind === 'postgres') {
      const settings = [
        'fsync=off',
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${this.#run}`,
      ]
      return this.#asNobody([
        join(this.#bin, 'postgres'),
        '-D',
        data,
        '-p',
        String(this.#port),
        ...settings.flatMap((setting) => ['-c', setting]),
      ])
    }
    return this.#asNobody([
      join(this.#folder, 'files/usr/sbin/mariadbd'),
      '--no-defaults',
      `--basedir=${join(this.#folder, 'files/usr')}`,
      `--datadir=${data}`,
      `--port=${this.#port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(this.#run, 'socket')}`,
      `--pid-file=${join(this.#run, 'pid')}`,
      `--init-file=${join(this.#folder, 'init.sql')}`,
      '--skip-name-resolve',
      '--innodb-flush-log-at-trx-commit=2',
      '--innodb-use-native-aio=0',
    ])
  }

  async #initialize(): Promise<void> {
    const [program = '', ...args] = this.#asNobody(
      this.#kind === 'postgres' ? this.#initPostgres() : this.#initMariadb(),
    )
    await run(program, args, { env: this.#env(), cwd: this.#run, timeout: 120_000 })
    if (this.#kind === 'postgres') await this.#createPostgresDatabase()
  }

  #initPostgres(): readonly string[] {
    const file = join(this.#folder, 'password')
    writeFileSync(file, `${PASSWORD}\n`)
    return [
      join(this.#bin, 'initdb'),
      `--pgdata=${join(this.#run, 'data')}`,
      '--username=audit',
      '--auth=scram-sha-256',
      `--pwfile=${file}`,
      '--no-sync',
      '--encoding=UTF8',
      '--locale=C',
    ]
  }

  #initMariadb(): readonly string[] {
    writeFileSync(
      join(this.#folder, 'init.sql'),
      [
        'create database if not exists audit;',
        `create user if not exists audit@'127.0.0.1' identified by '${PASSWORD}';`,
        `grant all on *.* to audit@'127.0.0.1';`,
      ].join('\n'),
    )
    return [
      join(this.#bin, 'mariadb-install-db'),
      '--no-defaults',
      `--basedir=${join(this.#folder, 'files/usr')}`,
      `--datadir=${join(this.#run, 'data')}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ]
  }

  /** By the server alone, before it listens. */
  async #createPostgresDatabase(): Promise<void> {
    const [program = '', ...args] = this.#asNobody([
      join(this.#bin, 'postgres'),
      '--single',
      '-D',
      join(this.#run, 'data'),
      'postgres',
    ])
    const single = spawn(program, args, { env: this.#env(), stdio: ['pipe', 'ignore', 'ignore'] })
    const ended = new Promise((resolve) => single.once('exit', resolve))
    single.stdin.end('create database audit\n')
    await ended
  }
}

/** A text that no message may quote. */
export const PASSWORD = 'pa55-canary'

/** Whether it answers a statement. */
async function answers(endpoint: ServerEndpoint): Promise<true | undefined> {
  const databases = openDatabases(endpoint)
  try {
    await sql`select 1`.execute(databases.writer)
    return true
  } finally {
    await closeDatabases(databases)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function childrenOf(pid: number): readonly number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number)
}
