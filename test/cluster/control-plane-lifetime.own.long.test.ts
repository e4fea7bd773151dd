// Start and stop of a control plane: one per folder, and no processes are left when the starter or its guard is killed.
// Starters that are killed run in child processes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { eventuallyPasses } from '../support/eventually.ts'

const WITHIN_A_MINUTE = { withinMs: 60_000 }

describe('a kept data folder', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'control-plane-test-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('is used by one control plane at a time, and keeps its data for the next', async () => {
    const first = await startControlPlane({ dataDir: folder, log: () => undefined })
    onTestFinished(() => first.stop())
    await first.kubectl(['create', 'configmap', 'kept'])
    const before = await readFile(first.adminKubeconfig, 'utf8')
    const second = startControlPlane({ dataDir: folder, log: () => undefined })
    await expect(second).rejects.toThrow(
      `${first.dataDir} is in use by the control plane of process`,
    )
    expect((await first.kubectl(['get', 'cm', 'kept'])).code).toBe(0)
    await first.stop()

    const next = await startControlPlane({ dataDir: folder, log: () => undefined })
    onTestFinished(() => next.stop())
    expect((await next.kubectl(['get', 'cm', 'kept'])).code).toBe(0)
    expect(await readFile(next.adminKubeconfig, 'utf8')).toBe(before)
    await next.stop()
    expect(existsSync(folder)).toBe(true)
  })

  test('is used by one of two that start together', async () => {
    const options = { dataDir: folder, log: () => undefined }
    const both = await Promise.allSettled([startControlPlane(options), startControlPlane(options)])
    for (const outcome of both) if (outcome.status === 'fulfilled') await outcome.value.stop()
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('can be used once the guard of a killed starter has stopped its processes', async () => {
    const starter = await startInChild(folder)
    await killed(starter)
    const next = await startControlPlane({ dataDir: folder, log: () => undefined })
    onTestFinished(() => next.stop())
    expect(starter.pids.filter(pidExists)).toEqual([])
    await ended([starter.guard])
    await next.stop()
  })

  test('can be used again when starter and guard are killed', async () => {
    const starter = await startInChild(folder)
    const orphans = starter.pids
    process.kill(starter.guard, 'SIGKILL')
    await killed(starter)
    const next = await startControlPlane({ dataDir: folder, log: () => undefined })
    onTestFinished(() => next.stop())
    await ended(orphans)
    expect((await next.kubectl(['get', 'ns', 'default'])).code).toBe(0)
    await next.stop()
  })
})

test.each([
  { name: 'is killed', signal: 'SIGKILL' },
  { name: 'exits on Ctrl-C without stopping it', signal: 'SIGINT' },
] as const)('nothing is left when the starter $name', async ({ signal }) => {
  const starter = await startInChild(null)
  expect(starter.pids.every(pidExists)).toBe(true)
  starter.process.kill(signal)
  await eventuallyPasses(
    'every process has ended',
    () => {
      expect([starter.guard, ...starter.pids].filter(pidExists)).toEqual([])
    },
    WITHIN_A_MINUTE,
  )
  expect(existsSync(starter.dataDir)).toBe(false)
})

test('no process is left when the guard is killed', async () => {
  const lines: string[] = []
  const plane = await startControlPlane({ log: (line) => lines.push(line) })
  onTestFinished(() => rm(plane.dataDir, { recursive: true, force: true }))
  const pids = [plane.etcd, plane.apiServer, plane.controllerManager].map(({ pid }) => pid ?? 0)
  process.kill(await guardOf(plane.dataDir), 'SIGKILL')
  await eventuallyPasses(
    'every process has ended',
    () => {
      expect(pids.filter(pidExists)).toEqual([])
    },
    WITHIN_A_MINUTE,
  )
  expect(lines.filter((line) => line.includes('its guard ended'))).toHaveLength(3)
  await expect(plane.apiServer.start()).rejects.toThrow('the control plane has been stopped')
  await plane.stop()
})

interface Starter {
  readonly process: ChildProcess
  readonly dataDir: string
  readonly guard: number
  readonly pids: readonly number[]
}

/** A child process that starts a control plane and then idles; null = in a temporary folder. */
async function startInChild(folder: string | null): Promise<Starter> {
  const module = join(import.meta.dirname, '../../tools/control-plane/control-plane.ts')
  const script = `
    const { startControlPlane } = await import(${JSON.stringify(module)})
    const dataDir = ${JSON.stringify(folder)}
    const plane = await startControlPlane({ log: () => {}, ...(dataDir ? { dataDir } : {}) })
    const pids = [plane.etcd, plane.apiServer, plane.controllerManager].map(({ pid }) => pid)
    console.log(JSON.stringify({ dataDir: plane.dataDir, pids }))`
  const args = ['--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { dataDir, pids } = JSON.parse(line) as Pick<Starter, 'dataDir' | 'pids'>
  return { process: child, dataDir, pids, guard: await guardOf(dataDir) }
}

/** True for zombies too. */
function pidExists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Kills a starter and waits until it has exited: before that its folder is still in use. */
async function killed({ process: child }: Starter): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Waits until the processes have exited; orphans have a pid until init reaps them. */
const ended = (pids: readonly number[]): Promise<void> =>
  eventuallyPasses(
    'every process has ended',
    () => {
      expect(pids.filter(pidExists)).toEqual([])
    },
    WITHIN_A_MINUTE,
  )

async function guardOf(dataDir: string): Promise<number> {
  const claim = await readFile(join(dataDir, 'claim.json'), 'utf8')
  return (JSON.parse(claim) as { readonly guard: number }).guard
}
