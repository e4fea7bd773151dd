// The image: its files, its metadata, and its commands in a restricted container.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import {
  BASE_IMAGE,
  MOST_RESTRICTED,
  NODE,
  REPOSITORY,
  restrictedContainer,
  containersOrSkip,
  launch,
  runToEnd,
  withScript,
} from './docker-containers.ts'
import type { FoundFile } from './inside/list-files.ts'

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

/** Runs a container until it exits, with most restrictions and without a network. */
const run = (of: string, args: readonly string[], entrypoint?: readonly string[]) => {
  const container = restrictedContainer(of, MOST_RESTRICTED)
    .withNetworkMode('none')
    .withCommand([...args])
  if (entrypoint) container.withEntrypoint([...entrypoint])
  return runToEnd(container)
}

async function inspect(of: string) {
  const { container } = await getContainerRuntimeClient()
  return container.dockerode.getImage(of).inspect()
}

describe('commands in a read-only container without capabilities (8.1)', () => {
  test.concurrent.each([
    { args: ['--version'], code: 0, says: `${read('package.json').version}\n` },
    { args: ['--help'], code: 0, says: 'Usage: management-operator <command>' },
    { args: [], code: 0, says: 'Usage: management-operator <command>' },
    { args: ['manager', '--help'], code: 0, says: '--leader-elect' },
    { args: ['gateway', '--help'], code: 0, says: '--bind-address' },
    { args: ['direct', '--help'], code: 0, says: '--max-staleness' },
    { args: ['keygen'], code: 0, says: 'digest: sha256:' },
    {
      args: ['bogus'],
      code: 2,
      says: 'accepted are manager, gateway, direct, delivery, sign-in, syncer, target, kubeconfig, check, keygen',
    },
    { args: ['manager', '--bogus'], code: 2, says: 'is not a flag, accepted are --kubeconfig' },
    { args: ['gateway', '--bind-address=x'], code: 2, says: 'an address such as :8443' },
    { args: ['manager'], code: 1, says: 'no cluster: give --kubeconfig' },
  ])('$args exits with $code', async ({ args, code, says }) => {
    const ended = await run(image, args)
    expect(ended.log).toContain(says)
    expect(ended.code).toBe(code)
  })
})

test('the image has user, entrypoint, version and labels (34.4)', async () => {
  const { Config } = await inspect(image)
  expect(Config.User).toBe('65532:65532')
  expect(Config.Entrypoint?.[0]).toBe(NODE)
  expect(Config.Entrypoint?.at(-1)).toBe('/app/src/main.js')
  const PREFIX = 'org.opencontainers.image.'
  const labels = Object.entries(Config.Labels as Readonly<Record<string, string>>).map(
    ([name, value]) => [name.replace(PREFIX, ''), value] as const,
  )
  const revision = new Map(labels).get('revision') ?? ''
  expect(revision).toMatch(/^[0-9a-f]{40}$|^unknown$/)
  expect(Object.fromEntries(labels)).toEqual({
    title: 'management-operator',
    description: expect.stringMatching(/Kubernetes operator$/),
    licenses: 'Apache-2.0',
    version: read('package.json').version,
    revision,
    url: REPOSITORY,
    source: REPOSITORY,
    documentation: `${REPOSITORY}/tree/${revision}/docs`,
    'base.name': BASE_IMAGE,
  })
})

test('the heap limit fits into the memory limit of the container', async () => {
  const { Config } = await inspect(image)
  const node = [Config.Entrypoint ?? []].flat().slice(0, -1)
  const { log } = await run(image, ['-p', 'v8.getHeapStatistics().heap_size_limit'], node)
  const share = Number(log) / (MOST_RESTRICTED.memoryBytes ?? 0)
  expect(share).toBeGreaterThan(0.6)
  expect(share).toBeLessThan(0.9)
})

test('the image shares no layer with its base and is smaller than 200 MB', async () => {
  const [ours, base] = [await inspect(image), await inspect(BASE_IMAGE)]
  const [size, baseSize] = [ours.Size, base.Size].map((bytes) => Math.round(bytes / 1e6))
  console.log(`image ${size} MB, of a base of ${baseSize} MB`)
  const layers = new Set(base.RootFS.Layers)
  expect(ours.RootFS.Layers?.filter((layer) => layers.has(layer))).toEqual([])
  expect(size).toBeLessThan(200)
})

describe('the files of the image', () => {
  const FILES_OF_DOCKER = new Set([
    '/.dockerenv',
    '/etc/hostname',
    '/etc/hosts',
    '/etc/mtab',
    '/etc/resolv.conf',
  ])
  const LIBRARY =
    /^\/(?:usr\/)?lib(?:64)?\/(?:[^/]+\/)?(?:ld-[^/]+|lib(?:atomic|c|dl|gcc_s|m|pthread|rt|stdc\+\+))\.so\.\d+$/
  let found: readonly FoundFile[]

  beforeAll(async () => {
    if (containers === null) return
    // As root, to read all files.
    const asRoot = { ...MOST_RESTRICTED, user: '0:0', droppedCapabilities: [] }
    const listing = withScript(image, asRoot, { file: 'list-files.ts' }, [`${ROOT}/`])
    const { code, log } = await runToEnd(listing.withNetworkMode('none'))
    if (code !== 0) throw new Error(log.slice(-4000))
    found = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as FoundFile)
      .filter(({ path }) => !FILES_OF_DOCKER.has(path))
  }, 60_000)

  const paths = (which: (file: FoundFile) => boolean): readonly string[] =>
    found.filter(which).map(({ path }) => path)

  test('are only Node, its libraries, the program, and licenses and manifests of packages', () => {
    const ours = new Set([NODE, '/etc/nsswitch.conf', '/app/LICENSE', '/app/package.json'])
    const isOurs = ({ path }: FoundFile): boolean =>
      ours.has(path) ||
      LIBRARY.test(path) ||
      /^\/app\/node_modules\/.*\/(?:package\.json|(?:licen[cs]e|notice)[^/]*)$/i.test(path) ||
      /^\/app\/src\/[\w-]+\.(?:js|wasm)$/.test(path)
    expect(paths((file) => file.kind !== 'folder' && !isOurs(file)).slice(0, 20)).toEqual([])
    expect(paths(isOurs).length).toBeGreaterThan(100)
    expect(paths(({ kind }) => kind === 'other')).toEqual([])
  })

  test('include no executable but Node and the libraries that it loads', () => {
    const libraries = paths(({ isLoaded }) => isLoaded)
    expect(libraries.length).toBeGreaterThan(2)
    const needed = [...libraries, NODE]
    expect(paths(({ isElf }) => isElf).toSorted()).toEqual(needed.toSorted())
    const may = paths(({ kind, mode }) => kind === 'file' && (mode & 0o111) !== 0)
    expect(may.filter((path) => !needed.includes(path))).toEqual([])
  })

  test('include all production packages with their licenses, and no development package', () => {
    const locked = Object.entries(read('package-lock.json').packages).filter(
      ([path]) => path !== '',
    )
    const wanted = locked.filter(([, { dev, optional }]) => !dev && !optional).map(([path]) => path)
    const development = new Set(locked.filter(([, { dev }]) => dev).map(([path]) => path))
    const packages = paths(({ path }) => /^\/app\/node_modules\/.*\/package\.json$/.test(path)).map(
      (path) => path.slice('/app/'.length, -'/package.json'.length),
    )
    expect(wanted.length).toBeGreaterThan(50)
    expect(wanted.filter((path) => !packages.includes(path))).toEqual([])
    expect(packages.filter((path) => development.has(path))).toEqual([])
    const licenses = wanted.flatMap((path) =>
      readdirSync(join(ROOT, path))
        .filter((name) => /^licen[cs]e/i.test(name))
        .map((name) => `/app/${path}/${name}`),
    )
    expect(licenses.length).toBeGreaterThan(50)
    const files = new Set(paths(({ kind }) => kind === 'file'))
    expect(licenses.filter((path) => !files.has(path))).toEqual([])
  })

  test('include none that its user may write, no secret of the build and no path of the build machine', async () => {
    const isForeign = ({ uid, gid }: FoundFile): boolean => uid !== 0 || gid !== 0
    const isWritable = ({ kind, mode }: FoundFile): boolean =>
      kind !== 'other' && (mode & 0o022) !== 0
    expect(paths((file) => isForeign(file) || isWritable(file))).toEqual([])
    expect(paths(({ says }) => says.length > 0)).toEqual([])
    const history = await (await getContainerRuntimeClient()).container.dockerode
      .getImage(image)
      .history()
    expect(JSON.stringify(history)).not.toContain(ROOT)
    expect(JSON.stringify(history)).not.toContain('BEGIN CERTIFICATE')
  })
})

describe('the system in the image', () => {
  test('resolves names by /etc/hosts first, then by DNS', async () => {
    const server = await launch(withScript(image, MOST_RESTRICTED, { file: 'name-server.ts' }))
    onTestFinished(async () => void (await server.end(0)))
    await eventually(
      'the DNS server listens',
      () => server.log().includes('listening') || undefined,
      {
        withinMs: 20_000,
      },
    )
    const line = `const { lookup } = require('node:dns/promises')
      const find = async (name) => (await lookup(name, 4)).address
      Promise.all([find('issuer.example.com'), find('known.example.com')]).then(console.log)`
    const asking = withScript(image, MOST_RESTRICTED, { line })
      .withNameServer(server.container.getIpAddress('bridge'))
      .withExtraHosts([{ host: 'known.example.com', ipAddress: '192.0.2.1' }])
    expect(await runToEnd(asking)).toEqual({ code: 0, log: "[ '192.0.2.53', '192.0.2.1' ]\n" })
  })

  test('has time zones and root certificates within Node', async () => {
    const line = `const at = new Date('2026-07-01T12:00:00Z')
      console.log(at.toLocaleTimeString('de', { timeZone: 'Europe/Berlin' }), at.getHours())
      console.log(require('node:tls').rootCertificates.length > 100)`
    const { code, log } = await runToEnd(withScript(image, MOST_RESTRICTED, { line }))
    expect({ code, log }).toEqual({ code: 0, log: '14:00:00 12\ntrue\n' })
  })
})
