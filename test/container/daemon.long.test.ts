// The daemon that the tests start for themselves: whatever ends those who started it, nothing of it stays.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeEach, expect, test } from 'vitest'
import { ended } from '../../tools/docker/engine.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import { BASE_IMAGE, containersOrSkip } from './docker-image.ts'

const DAEMON = join(import.meta.dirname, '../../tools/docker/daemon.sh')
/** Our own temporary files lie in the folder of the daemon that all tests share. */
const OUTSIDE = { ...process.env, TMPDIR: '/tmp' }
const GONE = { withinMs: 60_000 }

const containers = containersOrSkip()
beforeEach(({ skip }) => {
  if (containers?.isOurs === false) skip('these tests use a Docker daemon that was there before')
})

/** A daemon with a container on it, and the process that started it. */
async function startBusy() {
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
  // From the shared daemon, as nothing can be pulled.
  const copy = `"$0" -H "$1" save "$2" | "$0" load && "$0" run --detach --publish 8080 "$2" sleep 600`
  execFileSync('sh', ['-c', copy, docker, containers?.host ?? '', BASE_IMAGE], {
    env,
    stdio: 'pipe',
  })
  const owner = Number(readFileSync(join(folder, 'owner'), 'utf8'))
  return { starter, folder, owner }
}

async function everythingIsGone(folder: string, owner: number): Promise<void> {
  await eventuallyPasses(
    'the daemon is gone',
    async () => {
      expect(existsSync(folder)).toBe(false)
      expect(readdirSync('/sys/class/net')).not.toContain(`mo-${owner}`)
      expect((await ended('pgrep', ['-f', `${folder}/`], { withinMs: 5000 })).stdout).toBe('')
      expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(folder)
    },
    GONE,
  )
}

test('the daemon ends when its starter is killed', async () => {
  const { starter, folder, owner } = await startBusy()
  expect(readdirSync('/sys/class/net')).toContain(`mo-${owner}`)
  starter.kill('SIGKILL')
  await everythingIsGone(folder, owner)
})

test('what a killed daemon leaves, the next one removes', async () => {
  const { starter, folder, owner } = await startBusy()
  process.kill(owner, 'SIGKILL')
  await once(starter, 'exit')
  expect(existsSync(folder)).toBe(true)
  const next = spawn(DAEMON, { stdio: ['pipe', 'pipe', 'inherit'], env: OUTSIDE })
  await once(createInterface(next.stdout), 'line')
  await everythingIsGone(folder, owner)
  next.stdin.end()
  await once(next, 'exit')
})
