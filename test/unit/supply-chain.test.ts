// Statements of docs/security.md about packages and about processes and files.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const jsonOf = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))

interface Locked {
  readonly integrity?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
}

describe('packages', () => {
  const { dependencies, devDependencies } = jsonOf('package.json')
  const { packages } = jsonOf('package-lock.json')
  const production = Object.entries<Locked>(packages).filter(
    ([path, { dev, optional }]) => path !== '' && !dev && !optional,
  )

  test('each has an exact version, no range', () => {
    const versions: readonly string[] = Object.values({ ...dependencies, ...devDependencies })
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
  })

  test('each package has its hash in the lock file, also those of development and of other platforms', () => {
    expect(production.length).toBeGreaterThan(Object.keys(dependencies).length)
    const all = Object.entries<Locked>(packages).filter(([path]) => path !== '')
    expect(all.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([])
  })

  test('no production package runs an install script', () => {
    expect(production.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([])
  })
})

test('the program starts no process but the browser of a person, and writes no file but the audit log, the state of a direct endpoint, and a kubeconfig and sign-ins for who asks', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((name) => name.endsWith('.ts'))
  const textOf = (name: string): string => readFileSync(join(ROOT, 'src', name), 'utf8')
  const threads = sources.filter((name) => textOf(name).includes('node:worker_threads'))
  expect(threads.toSorted()).toEqual([
    'audit/store/sqlite-dialect.ts',
    'audit/store/sqlite-worker.ts',
    'signin/providers/saml/signature-thread.ts',
    'signin/providers/saml/signature-worker.ts',
    'sync/sandbox/sandbox.ts',
    'sync/sandbox/worker.ts',
  ])
  const reaching = sources.filter((name) =>
    /node:child_process|\b(writeFile|appendFile|createWriteStream|mkdir|rename|unlink|rm)(Sync)?\(/.test(
      textOf(name),
    ),
  )
  expect(sources.length).toBeGreaterThan(50)
  expect(reaching.toSorted()).toEqual([
    'audit/agent/spool.ts',
    'audit/files/audit-file.ts',
    'audit/files/compress.ts',
    'audit/files/directory-sink.ts',
    'audit/files/directory.ts',
    'audit/files/upkeep.ts',
    'authn/token/state-files.ts',
    'commands/kubeconfig/command.ts',
    'commands/login/browser.ts',
    'commands/login/sign-ins-file.ts',
    'runtime/kept-file.ts',
  ])
})
