import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { isNewEnough, requiredGo } from '../../../tools/control-plane/build.ts'
import { cacheDirectory, missingIn } from '../../../tools/control-plane/cache.ts'
import { kubernetesVersion, PROGRAMS } from '../../../tools/control-plane/programs.ts'
import { DaemonProcesses } from '../../../tools/control-plane/daemon-processes.ts'
import { isRunning, processOf, tryLock, withLock } from '../../../tools/control-plane/lock.ts'
import { eventually } from '../../support/eventually.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'binaries-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the cache folder of built programs', () => {
  test.each([
    { name: 'absent', env: {}, root: '/home/ada/.cache' },
    { name: 'empty', env: { XDG_CACHE_HOME: '' }, root: '/home/ada/.cache' },
    { name: 'relative', env: { XDG_CACHE_HOME: 'cache' }, root: '/home/ada/.cache' },
    { name: 'absolute', env: { XDG_CACHE_HOME: '/var/cache' }, root: '/var/cache' },
  ])('XDG_CACHE_HOME $name', ({ env, root }) => {
    expect(cacheDirectory('control-plane', env, '/home/ada', [])).toMatch(
      `${root}/management-operator/control-plane/`,
    )
  })

  test('other pinned versions have another folder', () => {
    const folders = [['a', 'b'], ['ab'], ['a', 'b']].map((pins) =>
      cacheDirectory('control-plane', {}, '/home/ada', pins),
    )
    expect(folders[1]).not.toBe(folders[0])
    expect(folders[2]).toBe(folders[0])
  })
})

test('a program is missing unless it is an executable file', () => {
  writeFileSync(join(folder, 'etcd'), '')
  chmodSync(join(folder, 'etcd'), 0o755)
  writeFileSync(join(folder, 'kubectl'), '')
  chmodSync(join(folder, 'kubectl'), 0o644)
  expect(missingIn(folder, PROGRAMS)).toEqual([
    'kube-apiserver',
    'kube-controller-manager',
    'kubectl',
  ])
  expect(missingIn(join(folder, 'absent'), PROGRAMS)).toHaveLength(4)
})

describe('the versions in go.mod', () => {
  const goMod = readFileSync(
    join(import.meta.dirname, '../../../tools/control-plane/go.mod'),
    'utf8',
  )

  test('are read for Kubernetes and for Go', () => {
    expect(kubernetesVersion(goMod)).toMatch(/^v1\.\d+\.\d+$/)
    expect(requiredGo(goMod)).toMatch(/^1\.\d+\.\d+$/)
  })

  test('are rejected when absent', () => {
    expect(() => kubernetesVersion('module x')).toThrow('does not require k8s.io/kubernetes')
    expect(() => requiredGo('module x')).toThrow('no go directive')
  })
})

test.each([
  { found: 'go1.26.0', enough: true },
  { found: 'go1.26', enough: true },
  { found: 'go1.26.8', enough: true },
  { found: 'go1.27rc1', enough: true },
  { found: 'go2.0', enough: true },
  { found: 'go1.25.9', enough: false },
  { found: 'go1.9', enough: false },
  { found: '', enough: false },
])('$found is enough for 1.26.0: $enough', ({ found, enough }) => {
  expect(isNewEnough(found, '1.26.0')).toBe(enough)
})

/** A process that would run for ten minutes; it is killed when the test is finished. */
async function sleeper() {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ref = await processOf(child.pid ?? 0)
  if (ref === null) throw new Error('sleep does not run')
  return { child, ref }
}

async function killedSleeper() {
  const { child, ref } = await sleeper()
  child.kill('SIGKILL')
  await once(child, 'exit')
  return ref
}

describe('the lock on a folder', () => {
  let lock: string
  beforeEach(() => {
    lock = join(folder, 'lock')
  })

  test('admits one process at a time, and tells the other which process it waits for', async () => {
    const order: string[] = []
    const begun = Promise.withResolvers<void>()
    const waitedFor = Promise.withResolvers<number>()
    const first = withLock(
      lock,
      () => undefined,
      async () => {
        order.push('first begins')
        begun.resolve()
        expect(await waitedFor.promise).toBe(process.pid)
        order.push('first ends')
      },
    )
    await begun.promise
    const second = withLock(lock, waitedFor.resolve, async () => order.push('second'))
    await Promise.all([first, second])
    expect(order).toEqual(['first begins', 'first ends', 'second'])
  })

  test('is refused while its holder runs', async () => {
    const { ref } = await sleeper()
    writeFileSync(lock, JSON.stringify({ holder: ref }))
    expect(await tryLock(lock, () => Promise.reject(new Error('taken over')))).toBe(ref.pid)
    expect(readFileSync(lock, 'utf8')).toBe(JSON.stringify({ holder: ref }))
  })

  test.each([
    { name: 'a process that was killed', holder: killedSleeper },
    {
      name: 'a process whose id another process has now',
      holder: async () => ({ ...(await sleeper()).ref, began: 'before' }),
    },
    {
      name: 'our own process id from before a reboot',
      holder: async () => ({ pid: process.pid, began: 'another start' }),
    },
  ])('is taken over from $name', async ({ holder }) => {
    writeFileSync(lock, JSON.stringify({ holder: await holder() }))
    const waited: number[] = []
    expect(
      await withLock(
        lock,
        (pid) => waited.push(pid),
        async () => 'done',
      ),
    ).toBe('done')
    expect(waited).toEqual([])
    expect(existsSync(lock)).toBe(false)
  })

  test.each([
    { name: 'garbage', content: 'rubbish' },
    { name: 'a number', content: '2147483646\n' },
  ])('is taken over from a file with $name', async ({ content }) => {
    writeFileSync(lock, content)
    expect(
      await withLock(
        lock,
        () => undefined,
        async () => 'done',
      ),
    ).toBe('done')
    expect(existsSync(lock)).toBe(false)
  })

  test('is released by work that fails', async () => {
    const failing = withLock(
      lock,
      () => undefined,
      () => Promise.reject(new Error('no')),
    )
    await expect(failing).rejects.toThrow('no')
    expect(existsSync(lock)).toBe(false)
  })
})

describe('a data folder', () => {
  let claim: string
  beforeEach(() => {
    claim = join(folder, 'claim.json')
  })
  const begun: DaemonProcesses[] = []
  afterEach(async () => {
    for (const processes of begun.splice(0)) await processes.finish()
  })
  const begin = async () => {
    const processes = await DaemonProcesses.begin(folder, true)
    begun.push(processes)
    return processes
  }

  test('that is new is locked, and released at the end', async () => {
    const processes = await begin()
    expect(existsSync(claim)).toBe(true)
    await processes.finish()
    expect(existsSync(claim)).toBe(false)
  })

  test('is refused while its starter runs', async () => {
    const { ref: starter } = await sleeper()
    writeFileSync(claim, JSON.stringify({ holder: starter, daemons: [] }))
    await expect(begin()).rejects.toThrow(
      `${folder} is in use by the control plane of process ${starter.pid}`,
    )
  })

  test('is locked once the daemons of a killed starter have ended', async () => {
    const [etcd, other] = [await sleeper(), await sleeper()]
    const daemons = [etcd.ref, { ...other.ref, began: 'before' }]
    writeFileSync(claim, JSON.stringify({ holder: await killedSleeper(), daemons }))
    await begin()
    expect(await isRunning(etcd.ref)).toBe(false)
    expect(await isRunning(other.ref)).toBe(true)
  })

  test('with a lock of another format is not touched', async () => {
    writeFileSync(claim, JSON.stringify({ guard: 1, starter: 2, daemons: { etcd: 3 } }))
    await expect(begin()).rejects.toThrow('is unreadable: remove it')
    expect(existsSync(claim)).toBe(true)
  })

  test('lists its daemons and the process that ends them, and reports each end', async () => {
    const processes = await begin()
    const ended: object[] = []
    processes.onEnded((one) => ended.push(one))
    const sleep = { command: 'sleep', args: ['600'], logFile: join(folder, 'log') }
    await processes.start({ daemon: 'etcd', ...sleep })
    await processes.start({ daemon: 'kube-apiserver', ...sleep })
    const pids = [processes.pid('kube-apiserver'), processes.pid('etcd')]
    const { guard, daemons } = JSON.parse(readFileSync(claim, 'utf8'))
    expect(daemons).toMatchObject(pids.map((pid) => ({ pid })))
    await processes.stop('kube-apiserver', 'SIGTERM')
    process.kill(guard, 'SIGKILL')
    await eventually('etcd has ended', () => processes.pid('etcd') === null || undefined, {
      withinMs: 10_000,
    })
    expect(ended).toEqual([
      { daemon: 'kube-apiserver', how: 'SIGTERM', because: 'ordered' },
      { daemon: 'etcd', how: 'its guard ended', because: 'itself' },
    ])
    await expect(processes.start({ daemon: 'etcd', ...sleep })).rejects.toThrow('has been stopped')
  })

  test('starts no daemon whose program is missing', async () => {
    const processes = await begin()
    const missing = { command: join(folder, 'absent'), args: [], logFile: join(folder, 'log') }
    await expect(processes.start({ daemon: 'etcd', ...missing })).rejects.toThrow(
      'etcd did not start',
    )
    expect(processes.pid('etcd')).toBeNull()
  })
})
