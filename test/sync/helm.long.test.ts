// A tenant forges a Helm release, beside a release of the host's owner in the host namespace.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONFIG_MAPS, SECRETS } from '../../src/api/names.ts'
import { ensureHelm } from '../../tools/helm/program.ts'
import type { Ref } from '../support/sync-side.ts'
import { expectOnlyFlows, syncPlanes, syncWorld } from '../support/sync-world.ts'
import { programOrSkip } from '../support/program-or-skip.ts'

const planes = await syncPlanes()
const helm = await programOrSkip(ensureHelm)
const world = await syncWorld(planes, { secrets: { all: true }, configMaps: { all: true } })
const { virtual, host, hostRef, hostNamespace } = world
const namespace = await world.namespace()
const folder = await mkdtemp(join(tmpdir(), 'helm-'))
const start = await world.mark()
beforeAll(() => world.start())
afterAll(async () => {
  await expectOnlyFlows(world, start)
  await rm(folder, { recursive: true })
})

const RELEASE = 'shop'
const OF_HOST: Ref = { namespace: hostNamespace, name: 'of-the-host' }
const TYPE = 'helm.sh/release.v1'

/** Runs Helm on the host as its owner. @returns what it prints */
async function run(driver: 'secret' | 'configmap', ...args: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    KUBECONFIG: planes.host.adminKubeconfig,
    HELM_DRIVER: driver,
    HELM_CACHE_HOME: join(folder, 'cache'),
    HELM_CONFIG_HOME: join(folder, 'config'),
    HELM_DATA_HOME: join(folder, 'data'),
  }
  const all = [...args, '--namespace', hostNamespace]
  return (await promisify(execFile)(helm, all, { env })).stdout
}

const TEMPLATE = `apiVersion: v1
kind: ConfigMap
metadata: {name: of-the-host}
data: {from: "{{ .Values.from }}"}
`

async function writeChart(): Promise<string> {
  const chart = join(folder, 'chart')
  await mkdir(join(chart, 'templates'), { recursive: true })
  await writeFile(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: shop\nversion: 1.0.0\n')
  await writeFile(join(chart, 'values.yaml'), 'from: chart\n')
  await writeFile(join(chart, 'templates', 'map.yaml'), TEMPLATE)
  return chart
}

/** A release as Helm stores it, with the tenant's values and a hook that runs at uninstall. */
function forgedRelease(version: number): string {
  const hook = {
    name: 'own',
    kind: 'ConfigMap',
    path: 'shop/templates/hook.yaml',
    manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made-by-the-tenant}\n',
    events: ['pre-delete', 'pre-upgrade'],
  }
  const release = {
    name: RELEASE,
    namespace: hostNamespace,
    version,
    manifest: '',
    hooks: [hook],
    config: { from: 'tenant' },
    info: {
      status: 'deployed',
      first_deployed: '2026-01-01T00:00:00Z',
      last_deployed: '2026-01-01T00:00:00Z',
    },
    chart: {
      metadata: { apiVersion: 'v2', name: 'shop', version: '1.0.0' },
      values: { from: 'tenant' },
    },
  }
  return gzipSync(JSON.stringify(release)).toString('base64')
}

const labelsOf = (version: number) => ({
  owner: 'helm',
  name: RELEASE,
  status: 'deployed',
  version: String(version),
})

/** The same release, made by the host's owner under another name: it shows that the forgery would work. */
test.each(['secret', 'configmap'] as const)(
  'a tenant forges no release of the host that Helm keeps as a %s (17.3)',
  { timeout: 120_000 },
  async (driver) => {
    const chart = await writeChart()
    await run(driver, 'install', RELEASE, chart, '--set', 'from=owner')
    const resource = driver === 'secret' ? SECRETS : CONFIG_MAPS
    const forged = forgedRelease(999)
    const data =
      driver === 'secret'
        ? { type: TYPE, stringData: { release: forged } }
        : { data: { release: forged } }
    const ref = { namespace, name: `sh.helm.release.v1.${RELEASE}.v999` }
    await virtual.create(resource, ref, { ...data, metadata: { labels: labelsOf(999) } })
    // It is on the host, with its data: the rest does not depend on time.
    const copy = await host.shows(resource, hostRef(ref), {})
    expect(copy['data']).toBeDefined()

    const listed = JSON.parse(await run(driver, 'list', '--all-namespaces', '-o', 'json'))
    expect(listed).toMatchObject([{ name: RELEASE, revision: '1', status: 'deployed' }])
    await run(driver, 'upgrade', RELEASE, chart, '--reuse-values')
    expect(await host.get(CONFIG_MAPS, OF_HOST)).toMatchObject({ data: { from: 'owner' } })
    await run(driver, 'uninstall', RELEASE)
    expect(await host.read(CONFIG_MAPS, OF_HOST)).toBeNull()
    expect(
      await host.read(CONFIG_MAPS, { namespace: hostNamespace, name: 'made-by-the-tenant' }),
    ).toBeNull()
    // The tenant has what it wrote, and Helm has nothing of it.
    expect(await host.get(resource, hostRef(ref))).toMatchObject({ data: copy['data'] })

    // With its labels the same object is a release, so the check above is able to fail.
    await host.create(
      resource,
      { namespace: hostNamespace, name: ref.name },
      {
        ...data,
        metadata: { labels: labelsOf(999) },
      },
    )
    const found = JSON.parse(await run(driver, 'list', '-o', 'json'))
    expect(found).toMatchObject([{ name: RELEASE, revision: '999' }])
    await run(driver, 'uninstall', RELEASE)
    expect(
      await host.read(CONFIG_MAPS, { namespace: hostNamespace, name: 'made-by-the-tenant' }),
    ).not.toBeNull()
    await host.remove(CONFIG_MAPS, { namespace: hostNamespace, name: 'made-by-the-tenant' })
    await virtual.remove(resource, ref)
    await host.gone(resource, hostRef(ref))
  },
)
