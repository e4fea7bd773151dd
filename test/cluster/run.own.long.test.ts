// `make run` that ends before it is ready: it exits at once with one clear message and leaves no processes. One whose
// API servers are killed goes on. docs.test.ts covers a successful run.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { cacheDirectory } from '../../tools/control-plane/cache.ts'
import { lockContent } from '../../tools/control-plane/lock.ts'
import { spaceFault } from '../../tools/run/disk-space.ts'
import { startMakeRun } from '../support/command-process.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'

const CONTROL_PLANE = join(import.meta.dirname, '../../tools/control-plane')
const WITHIN_A_MINUTE = { withinMs: 60_000 }
const NO_STACK = /^(?![^]*\n +at )/

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'run-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The command lines of all processes that contain the folder. */
async function processesOn(folder: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-A', '-o', 'args='])
  return stdout.split('\n').filter((command) => command.includes(folder))
}

test.each([
  { name: 'the daemons start', signal: 'SIGINT', code: 130, after: null },
  { name: 'the CRDs are installed', signal: 'SIGINT', code: 130, after: /installing CRDs/ },
  { name: 'the operator starts', signal: 'SIGTERM', code: 143, after: /the operator runs as/ },
  { name: 'the samples are applied', signal: 'SIGINT', code: 130, after: /applying the samples/ },
] as const)(
  'exits on $signal while $name, and leaves no process',
  async ({ signal, code, after }) => {
    const folder = newFolder()
    const run = startMakeRun(folder)
    if (after === null) {
      const etcdRuns = async () =>
        (await processesOn(folder)).some((command) => command.includes('/etcd ')) || undefined
      await eventually('etcd runs', etcdRuns, WITHIN_A_MINUTE)
    } else await run.says(after)
    run.kill(signal)
    expect(await run.exited).toBe(code)
    expect(run.printed.err).toBe(`${signal} before it was ready: ending\n`)
    const nothingRuns = async () => expect(await processesOn(folder)).toEqual([])
    await eventuallyPasses('every process has ended', nothingRuns, WITHIN_A_MINUTE)
  },
)

test.each([
  { name: 'the control plane', folderOf: (home: string) => join(home, 'control-plane') },
  {
    name: 'the connected cluster',
    folderOf: (home: string) => join(home, 'connected-cluster/control-plane'),
  },
])('make run starts the killed API server of $name again', async ({ name, folderOf }) => {
  const folder = newFolder()
  const run = startMakeRun(folder)
  await run.says(/Ctrl-C ends it/)
  const { stdout } = await promisify(execFile)('pgrep', [
    '-f',
    `/kube-apiserver .*${folderOf(folder)}/`,
  ])
  process.kill(Number(stdout), 'SIGKILL')
  await run.says(new RegExp(`${name} is whole again`))
  run.kill('SIGINT')
  expect(await run.exited).toBe(0)
})

test('a second start writes kubeconfigs for the port and the keys of now, and says what is gone', async () => {
  const folder = newFolder()
  const first = startMakeRun(folder)
  await first.says(/To start over: rm -rf /)
  const command = (...args: readonly string[]) =>
    promisify(execFile)('bash', ['-c', `. ${folder}/env && exec "$@"`, 'bash', ...args])
  await command('kubectl', 'delete', 'oak', 'ci-deploy')
  first.kill('SIGINT')
  expect(await first.exited).toBe(0)
  const port = Number(readFileSync(join(folder, 'gateway-port'), 'utf8'))
  const other = createServer().listen(port, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const second = startMakeRun(folder)
  await second.says(/To start over: rm -rf /)
  const { out } = second.printed
  expect(out).toContain(`port ${port} of the last run`)
  expect(out).toContain(`key ci-deploy is deleted, so there is no ${folder}/cluster.kubeconfig`)
  expect(existsSync(join(folder, 'cluster.kubeconfig'))).toBe(false)
  expect(out).not.toContain('--kubeconfig null')
  for (const section of ['Through the gateway: with a key', 'Endpoints of a virtual cluster'])
    expect(out).toContain(section)
  const [, metrics = ''] = /^ {2}operator +(http\S+)$/m.exec(out) ?? []
  expect(await (await fetch(metrics)).text()).toContain('platform_access_keys{')
  const own = join(folder, 'laptop-cli.kubeconfig')
  const { stdout } = await command('kubectl', '--kubeconfig', own, 'auth', 'whoami')
  expect(stdout).toContain('grace')
  second.kill('SIGINT')
  expect(await second.exited).toBe(0)
})

test('make run prints only the reason on a full disk', async () => {
  expect(spaceFault('/data', { bavail: 100, bsize: 4096 })).toBe(
    'the disk of /data has 0 MiB left, and make run needs 512: free some, or set RUN_DIR to a folder elsewhere',
  )
  expect(spaceFault('/data', { bavail: 512 * 256, bsize: 4096 })).toBeNull()
})

/** An empty cache of programs. */
function emptyCache(folder: string): {
  readonly env: Readonly<Record<string, string>>
  readonly into: string
} {
  const env = { XDG_CACHE_HOME: folder, KUBEBUILDER_ASSETS: '' }
  const pins = ['go.mod', 'go.sum'].map((file) => readFileSync(join(CONTROL_PLANE, file)))
  return { env, into: cacheDirectory('control-plane', env, '', pins) }
}

test('SIGINT ends a run that waits for the build of another process', async () => {
  const folder = newFolder()
  const { env, into } = emptyCache(folder)
  mkdirSync(dirname(into), { recursive: true })
  writeFileSync(`${into}.lock`, await lockContent({}))
  const run = startMakeRun(folder, env)
  await run.says(/is building the control plane already: waiting for it/)
  run.kill('SIGINT')
  expect(await run.exited).toBe(130)
})

test.each([
  {
    name: 'without Go',
    env: (folder: string) => ({ ...emptyCache(folder).env, PATH: '' }),
    err: /^The control plane has to be built once, and Go is not on PATH\.[^]*KUBEBUILDER_ASSETS/,
  },
  {
    name: "on a folder that can't be created",
    env: (folder: string) => {
      writeFileSync(join(folder, 'file'), '')
      return { RUN_DIR: join(folder, 'file/run') }
    },
    err: /^ENOTDIR: not a directory, mkdir /,
  },
])('$name it prints only the reason', async ({ env, err }) => {
  const folder = newFolder()
  const run = startMakeRun(folder, env(folder))
  expect(await run.exited).toBe(1)
  expect(run.printed.err).toMatch(err)
  expect(run.printed.err).toMatch(NO_STACK)
})
