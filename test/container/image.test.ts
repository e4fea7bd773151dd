// The image by itself: what is in it, what it says it is, and what its commands answer when held back.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { describe, expect, test } from 'vitest'
import { containersOrSkip } from './docker.ts'
import { BASE_IMAGE } from './image.ts'
import { confined, HELD_BACK, launch } from './pod-container.ts'

const ROOT = join(import.meta.dirname, '../..')
const containers = containersOrSkip()
const image = containers?.image ?? ''

interface Manifest {
  readonly version: string
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly optional?: boolean }>
  >
}
const read = (file: string): Manifest => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))

/** Runs it to its end, held back and without a network. */
async function run(of: string, args: readonly string[], entrypoint?: readonly string[]) {
  const container = confined(of, HELD_BACK)
    .withNetworkMode('none')
    .withCommand([...args])
  if (entrypoint) container.withEntrypoint([...entrypoint])
  const running = await launch(container)
  const code = await running.exited
  await running.end(0)
  return { code, log: running.log() }
}

async function inspect(of: string) {
  const { container } = await getContainerRuntimeClient()
  return container.dockerode.getImage(of).inspect()
}

const shell = async (of: string, script: string): Promise<readonly string[]> => {
  const { code, log } = await run(of, ['-c', script], ['sh'])
  if (code !== 0) throw new Error(`${script}: ${code}: ${log}`)
  return log.split('\n').filter((line) => line !== '')
}

describe('commands in a read-only container without capabilities (8.1)', () => {
  test.each([
    { args: ['--version'], code: 0, says: `${read('package.json').version}\n` },
    { args: ['--help'], code: 0, says: 'Usage: management-operator <command>' },
    { args: [], code: 0, says: 'Usage: management-operator <command>' },
    { args: ['manager', '--help'], code: 0, says: '--leader-elect' },
    { args: ['gateway', '--help'], code: 0, says: '--bind-address' },
    { args: ['keygen'], code: 0, says: 'digest: sha256:' },
    { args: ['bogus'], code: 2, says: 'accepted are manager, gateway, keygen' },
    { args: ['manager', '--bogus'], code: 2, says: 'is no flag, accepted are --kubeconfig' },
    { args: ['gateway', '--bind-address=x'], code: 2, says: 'an address such as :8443' },
    { args: ['manager'], code: 1, says: 'no cluster: give --kubeconfig' },
  ])('$args ends with $code', async ({ args, code, says }) => {
    const ended = await run(image, args)
    expect(ended.log).toContain(says)
    expect(ended.code).toBe(code)
  })
})

test('it names its user, its program and its version', async () => {
  const { Config } = await inspect(image)
  expect(Config.User).toBe('65532:65532')
  expect(Config.Entrypoint?.[0]).toBe('node')
  expect(Config.Entrypoint?.at(-1)).toBe('/app/src/main.ts')
  const labels = Config.Labels as Readonly<Record<string, string>>
  expect(labels['org.opencontainers.image.title']).toBe('management-operator')
  expect(labels['org.opencontainers.image.version']).toBe(read('package.json').version)
  expect(labels['org.opencontainers.image.revision']).toMatch(/^[0-9a-f]{40}$|^unknown$/)
})

test('its heap fits into the memory that the container may take', async () => {
  const { Config } = await inspect(image)
  const node = [Config.Entrypoint ?? []].flat().slice(0, -1)
  const { log } = await run(image, ['-p', 'v8.getHeapStatistics().heap_size_limit'], node)
  const share = Number(log) / (HELD_BACK.memoryBytes ?? 0)
  expect(share).toBeGreaterThan(0.6)
  expect(share).toBeLessThan(0.9)
})

test('it is little more than its base', async () => {
  const [ours, base] = [await inspect(image), await inspect(BASE_IMAGE)]
  const [size, baseSize] = [ours.Size, base.Size].map((bytes) => Math.round(bytes / 1e6))
  console.log(`image ${size} MB on a base of ${baseSize} MB`)
  expect(ours.RootFS.Layers?.slice(0, base.RootFS.Layers?.length)).toEqual(base.RootFS.Layers)
  expect(ours.Size / base.Size).toBeLessThan(1.3)
})

describe('what is in it', () => {
  // Folders that only others may read are Debian's own, and the same in the base.
  const FILES = String.raw`find / -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune \
    -o -type f -print 2>/dev/null || true`

  test('adds files to /app only: the sources of the program and packages that it runs on', async () => {
    const base = new Set(await shell(BASE_IMAGE, FILES))
    const added = (await shell(image, FILES)).filter((path) => !base.has(path))
    expect(added.length).toBeGreaterThan(100)
    const unexpected = added.filter(
      (path) => !/^\/app\/(package\.json$|src\/|node_modules\/)/.test(path),
    )
    expect(unexpected).toEqual([])
    expect(added.filter((path) => /^\/app\/src\/.*(?:\.test\.|[^s]$)/.test(path))).toEqual([])
  })

  test('no development dependency, and every other', async () => {
    const locked = Object.entries(read('package-lock.json').packages).filter(
      ([path]) => path !== '',
    )
    const wanted = locked.filter(([, { dev, optional }]) => !dev && !optional).map(([path]) => path)
    const development = new Set(locked.filter(([, { dev }]) => dev).map(([path]) => path))
    const found = (await shell(image, 'find /app/node_modules -name package.json')).map((path) =>
      path.slice('/app/'.length, -'/package.json'.length),
    )
    expect(wanted.length).toBeGreaterThan(50)
    expect(wanted.filter((path) => !found.includes(path))).toEqual([])
    expect(found.filter((path) => development.has(path))).toEqual([])
  })

  test('nothing that its user may write, no secret of the build, no path of the machine', async () => {
    const writable = String.raw`find /app ! -type l \( -writable -o -user 65532 -o -perm /022 \)`
    expect(await shell(image, writable)).toEqual([])
    expect(await shell(image, `grep -rlF -e '${ROOT}/' /app | head || true`)).toEqual([])
    expect(await shell(image, 'ls /run')).not.toContain('ca.crt')
    const history = await (await getContainerRuntimeClient()).container.dockerode
      .getImage(image)
      .history()
    expect(JSON.stringify(history)).not.toContain(ROOT)
    expect(JSON.stringify(history)).not.toContain('BEGIN CERTIFICATE')
  })
})
