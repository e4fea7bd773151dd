// The Docker daemon that the tests start: it leaves nothing behind, however its starter ends.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeEach, expect, test } from 'vitest'
import { ended } from '../../tools/docker/engine.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import { BASE_IMAGE, containersOrSkip } from './docker-containers.ts'

const DAEMON = join(import.meta.dirname, '../../tools/docker/daemon.sh')
/** TMPDIR of the tests is in the folder of their shared daemon. */
const OUTSIDE = { ...process.env, TMPDIR: '/tmp' }
const GONE = { withinMs: 60_000 }

const containers = containersOrSkip()
beforeEach(({ skip }) => {
  if (containers?.isOurs === false) skip('these tests use a Docker daemon that was there before')
})

/** Starts a daemon with a container; returns the process that started it too. */
async function startDaemonWithContainer() {
  const script = `require('node:child_process').spawn(process.argv[1], {
    detached: true, stdio: ['pipe', 'inherit', 'inherit'] })`
  const starter = spawn(process.execPath, ['-e', script, DAEMON], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: OUTSIDE,
  })
  const [line] = (await once(createInterface(starter.stdout), 'line')) as [string]
  const host = line.replace('ready ', '')
  const folder = dirname(host.replace('unix://', ''))
  const env = { ...process.env, DOCKER_HOST: host }
  const docker = containers?.docker ?? ''
  // Copied from the shared daemon, as no image can be pulled.
  const copy = `"$0" -H "$1" save "$2" | "$0" load && "$0" run --detach --publish 8080 "$2" sleep 600`
  execFileSync('sh', ['-c', copy, docker, containers?.host ?? '', BASE_IMAGE], {
    env,
    stdio: 'pipe',
  })
  const owner = Number(readFileSync(join(folder, 'owner'), 'utf8'))
  return { starter, folder, owner }
}

async function expectNothingLeft(folder: string, owner: number): Promise<void> {
  await eventuallyPasses(
    'the daemon and its files are removed',
    async () => {
      expect(existsSync(folder)).toBe(false)
      expect(readdirSync('/sys/class/net')).not.toContain(`mo-${owner}`)
      expect((await ended('pgrep', ['-f', `${folder}/`], { withinMs: 5000 })).stdout).toBe('')
      expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(folder)
    },
    GONE,
  )
}

test('the daemon stops when its starter is killed', async () => {
  const { starter, folder, owner } = await startDaemonWithContainer()
  expect(readdirSync('/sys/class/net')).toContain(`mo-${owner}`)
  starter.kill('SIGKILL')
  await expectNothingLeft(folder, owner)
})

test('the next daemon removes what a killed one has left', async () => {
  const { starter, folder, owner } = await startDaemonWithContainer()
  process.kill(owner, 'SIGKILL')
  await once(starter, 'exit')
  expect(existsSync(folder)).toBe(true)
  const next = spawn(DAEMON, { stdio: ['pipe', 'pipe', 'inherit'], env: OUTSIDE })
  await once(createInterface(next.stdout), 'line')
  await expectNothingLeft(folder, owner)
  next.stdin.end()
  await once(next, 'exit')
})
