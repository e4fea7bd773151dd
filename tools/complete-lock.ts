// Adds to package-lock.json the optional packages of other platforms that the registry in use did
// not offer at install time. Without them `npm ci` refuses the lock file where the registry has them.
// Every entry gets the hash of its package, which the registry is asked for; --check only counts.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

interface LockEntry {
  readonly version?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const OSES = 'aix android darwin freebsd linux netbsd openbsd openharmony sunos wasm32 win32'.split(
  ' ',
)
const CPUS = 'arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x x64'.split(' ')
const LOCK_FILE = 'package-lock.json'

/** The lock entry of a package of which only the name and version are known. */
function placeholder(name: string, version: string, dev: boolean): LockEntry {
  const words = new Set(name.split(/[-/@]/))
  const os = OSES.filter((word) => words.has(word))
  const cpu = CPUS.filter((word) => words.has(word))
  const gnu = words.has('gnu') || words.has('gnueabihf')
  const libc = words.has('musl') ? ['musl'] : gnu ? ['glibc'] : []
  return {
    version,
    optional: true,
    ...(dev ? { dev } : {}),
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(os.length > 0 ? { os } : {}),
    ...(libc.length > 0 ? { libc } : {}),
  }
}

const lock = JSON.parse(readFileSync(LOCK_FILE, 'utf8')) as { packages: Record<string, LockEntry> }
let added = 0
for (const [path, entry] of Object.entries({ ...lock.packages })) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const nested = path === '' ? [] : [`${path}/node_modules/${name}`]
    const places = [...nested, `node_modules/${name}`]
    if (places.some((place) => lock.packages[place] !== undefined)) continue
    lock.packages[`node_modules/${name}`] = placeholder(name, version, entry.dev === true)
    added += 1
  }
}
const unhashed = Object.entries(lock.packages).filter(
  ([path, { integrity }]) => path !== '' && integrity === undefined,
)
if (added + unhashed.length > 0) {
  if (process.argv.includes('--check')) {
    console.error(
      `${LOCK_FILE} lacks ${added} packages of other platforms and ${unhashed.length} hashes: run make generate`,
    )
    process.exit(1)
  }
  for (const [path, entry] of unhashed) lock.packages[path] = withHash(path, entry)
  writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`)
}
console.log(
  `${LOCK_FILE}: ${added} packages of other platforms and ${unhashed.length} hashes added`,
)

/** The entry with the hash that the registry has. @throws Error where it has none */
function withHash(path: string, { version, ...rest }: LockEntry): LockEntry {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const args = ['view', `${name}@${version}`, 'dist.integrity']
  const integrity = execFileSync('npm', args, { encoding: 'utf8' }).trim()
  if (!integrity.startsWith('sha512-'))
    throw new Error(`the registry has no hash of ${name}@${version}`)
  return { version: version ?? '', integrity, ...rest }
}
