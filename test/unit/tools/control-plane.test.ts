import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isNewEnough, requiredGo } from '../../../tools/control-plane/build.ts'
import { cacheDirectory, missingIn } from '../../../tools/control-plane/cache.ts'
import { kubernetesVersion, PROGRAMS } from '../../../tools/control-plane/programs.ts'
import { isAbandoned, withLock } from '../../../tools/control-plane/build-lock.ts'
import { obstacleIn } from '../../../tools/control-plane/claim.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'binaries-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('where built programs are kept', () => {
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

  test('other pins, other folder', () => {
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

describe('what go.mod says', () => {
  const goMod = readFileSync(
    join(import.meta.dirname, '../../../tools/control-plane/go.mod'),
    'utf8',
  )

  test('the version of Kubernetes and of Go', () => {
    expect(kubernetesVersion(goMod)).toMatch(/^v1\.\d+\.\d+$/)
    expect(requiredGo(goMod)).toMatch(/^1\.\d+\.\d+$/)
  })

  test('or it is refused', () => {
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
])('$found where 1.26.0 is asked for: $enough', ({ found, enough }) => {
  expect(isNewEnough(found, '1.26.0')).toBe(enough)
})

test.each([
  { name: 'alive', pidExists: true, silentMs: 5_000, abandoned: false },
  { name: 'killed', pidExists: false, silentMs: 0, abandoned: true },
  { name: 'killed, its id used again', pidExists: true, silentMs: 61_000, abandoned: true },
])('the lock of a holder that is $name', ({ pidExists, silentMs, abandoned }) => {
  expect(isAbandoned({ pid: 7, pidExists, silentMs })).toBe(abandoned)
})

describe('the lock', () => {
  let lock: string
  beforeEach(() => {
    lock = join(folder, 'lock')
  })

  test('lets one work at a time, and tells the other for whom it waits', async () => {
    const order: string[] = []
    const begun = Promise.withResolvers<void>()
    const told = Promise.withResolvers<number>()
    const first = withLock(
      lock,
      () => undefined,
      async () => {
        order.push('first begins')
        begun.resolve()
        expect(await told.promise).toBe(process.pid)
        order.push('first ends')
      },
    )
    await begun.promise
    const second = withLock(
      lock,
      ({ pid }) => told.resolve(pid),
      async () => order.push('second'),
    )
    await Promise.all([first, second])
    expect(order).toEqual(['first begins', 'first ends', 'second'])
  })

  test.each([
    { name: 'of a process that is gone', content: '2147483646\n', ageMs: 0 },
    { name: 'that is not one', content: 'rubbish', ageMs: 0 },
    { name: 'that nobody has touched for long', content: `${process.pid}\n`, ageMs: 120_000 },
  ])('takes over a lock $name', async ({ content, ageMs }) => {
    writeFileSync(lock, content)
    const touched = new Date(Date.now() - ageMs)
    utimesSync(lock, touched, touched)
    const waited: number[] = []
    expect(
      await withLock(
        lock,
        ({ pid }) => waited.push(pid),
        async () => 'done',
      ),
    ).toBe('done')
    expect(waited).toEqual([])
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

describe('what stands in the way on a data folder', () => {
  const claim = { guard: 1, starter: 9, stopping: false, daemons: { etcd: 2, 'kube-apiserver': 3 } }

  test.each([
    { name: 'nothing: never used', last: null, there: [], obstacle: { kind: 'none' } },
    {
      name: 'a control plane',
      last: claim,
      there: [1, 2, 3, 9],
      obstacle: { kind: 'inUse', starter: 9 },
    },
    {
      name: 'one that its starter stops',
      last: { ...claim, stopping: true },
      there: [1, 2, 9],
      obstacle: { kind: 'stopping' },
    },
    {
      name: 'one whose starter has died, before its guard knows',
      last: claim,
      there: [1, 2, 3],
      obstacle: { kind: 'stopping' },
    },
    {
      name: 'what a killed guard left, the API server before etcd',
      last: claim,
      there: [2, 3],
      obstacle: { kind: 'orphans', pids: [3, 2] },
    },
    { name: 'nothing: all have gone', last: claim, there: [], obstacle: { kind: 'none' } },
    {
      name: 'nothing: only the starter is there',
      last: claim,
      there: [9],
      obstacle: { kind: 'none' },
    },
  ])('$name', ({ last, there, obstacle }) => {
    expect(obstacleIn(last, (pid) => new Set<number>(there).has(pid))).toEqual(obstacle)
  })
})
