// From an empty cluster to a key that works, by the commands of the pages and those that Helm prints: by one file, and by
// the chart. Images are replaced by processes, so nothing is pulled.
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { foundBy } from '../../../tools/control-plane/found.ts'
import { releaseManifests } from '../../../tools/release/manifests.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { runBlock, shellBlocksOf } from '../../support/documentation-blocks.ts'
import { allVersions, changedBetween, startEmptyCluster, type Versions } from './helm-cluster.ts'
import {
  NAMESPACE,
  REPOSITORY,
  faultsOfKey,
  keyNamed,
  startPlatformNode,
} from './installed-platform.ts'

const ROOT = join(import.meta.dirname, '../../..')
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`
const MINUTE_MS = 60_000

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const blockOf = (page: string, words: string): string =>
  shellBlocksOf(textOf(page)).find((block) => block.includes(words)) ??
  `echo 'no block with ${words}'; exit 1`
const { version } = JSON.parse(textOf('package.json')) as { readonly version: string }

const helm = await foundBy(ensureHelm, console.log)
const cluster = await startEmptyCluster()
const { kubectl, plane, folder, file } = cluster
const node = await startPlatformNode(cluster, { [DIGEST]: undefined, [version]: undefined })
symlinkSync(join(ROOT, 'charts'), join(folder, 'charts'))

/** Runs a block of a page, or of Helm's notes, as a newcomer does. */
const type = (block: string): Promise<string> =>
  runBlock(plane, block, { cwd: folder, env: { ...cluster.env, PATH: dirname(helm.path ?? '') } })

/** What is there, but for what a running product renews. */
async function settled(): Promise<Versions> {
  const isRenewed = (name: string): boolean =>
    name.startsWith('Lease ') || name.endsWith('/platform-heartbeat')
  return new Map([...(await allVersions(cluster))].filter(([name]) => !isRenewed(name)))
}

describe('install.yaml', () => {
  test('brings a newcomer to a key that works within a minute (34.3)', async () => {
    const binaries = await ensureBinaries(console.log)
    const image = { repository: REPOSITORY, digest: DIGEST }
    file(
      'install.yaml',
      await releaseManifests(binaries.kubectl, join(ROOT, 'config/default'), image),
    )
    const startMs = performance.now()
    await type(blockOf('docs/helm.md', '-f install.yaml'))
    await type(blockOf('docs/install.md', 'kubectl wait crd'))
    const [, key = ''] =
      /^```yaml\n([^`]*kind: OwnedAccessKey\n[^`]*)```/m.exec(textOf('README.md')) ?? []
    writeFileSync(join(folder, 'key.yaml'), key)
    await type('kubectl create -f key.yaml')
    await type('kubectl wait oak/ci-of-ada --for=condition=Ready --timeout=30s')
    const { spec } = await keyNamed(cluster, 'ci-of-ada')
    expect(await faultsOfKey(cluster, node, spec?.key ?? '')).toEqual([])
    const tookMs = performance.now() - startMs
    console.log(`measured: ${Math.round(tookMs)} ms by one file`)
    expect(tookMs).toBeLessThan(MINUTE_MS)
  })

  test('changes nothing when it is applied again (34.3)', async () => {
    const before = await settled()
    await type(blockOf('docs/helm.md', '-f install.yaml'))
    expect(changedBetween(before, await settled())).toEqual([])
    expect([...before.keys()]).toContain(`Deployment ${NAMESPACE}/gateway`)
  })

  test('takes everything out again, keys first (5.1)', async () => {
    await type(
      'kubectl delete akc,oak,dcet,users.management.platform.sh,teams.management.platform.sh --all --all-namespaces --timeout=30s',
    )
    await type('kubectl delete -f install.yaml --timeout=60s')
    expect(await kubectl('get', 'namespace', NAMESPACE, '--ignore-not-found')).toBe('')
  })
})

test('the chart and its notes bring a newcomer to a key that works within a minute (34.2)', async ({
  skip,
}) => {
  if (helm.path === null) skip(helm.reason)
  const startMs = performance.now()
  const printed = await type(blockOf('docs/helm.md', 'helm install'))
  const notes = printed.slice(printed.indexOf('NOTES:'))
  const commands = notes
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.slice(2))
    .join('\n')
  // There is no kubelet for a port-forward: the same request goes to the process of a pod.
  const [typed = '', request = ''] = commands.split(
    /^kubectl -n \S+ port-forward service\/gateway 8443:443 &$/m,
  )
  await type(typed)
  const pods = [...node.pods().values()].filter(({ name }) => name.startsWith('gateway-'))
  const [curl = ''] = request.trim().split('\n')
  const answer = await type(curl.replace('localhost:8443', pods[0]?.url(8443) ?? ''))
  expect(JSON.parse(answer)).toMatchObject({ gitVersion: expect.stringMatching(/^v1/) })
  const tookMs = performance.now() - startMs
  console.log(`measured: ${Math.round(tookMs)} ms by Helm`)
  expect(tookMs).toBeLessThan(MINUTE_MS)
})

test('settings of the chart are refused before their kind is served, and taken by an upgrade (34.1)', async ({
  skip,
}) => {
  if (helm.path === null) skip(helm.reason)
  const chart = ['management-operator', 'charts/management-operator', `--namespace ${NAMESPACE}`]
  const values = ['--reset-then-reuse-values', '--set config.auth.accessKeyMaxTTLSeconds=7776000']
  const upgrade = `helm upgrade ${[...chart, ...values].join(' ')}`
  const install = `helm install --dry-run=server ${['other', ...chart.slice(1), ...values.slice(1)].join(' ')}`
  await expect(type(upgrade)).rejects.toThrow(
    /Config "platform-manager-config" in namespace "" exists and cannot be imported/,
  )
  await type(`${upgrade} --take-ownership`)
  await kubectl(
    'wait',
    'config/platform-manager-config',
    '--for=jsonpath={.status.auth.accessKeyMaxTTLSeconds}=7776000',
    '--timeout=30s',
  )
  await type(
    'kubectl delete akc,oak,dcet,users.management.platform.sh,teams.management.platform.sh --all --all-namespaces',
  )
  await type('helm uninstall management-operator --namespace platform-system')
  await type('kubectl delete crd -l app.kubernetes.io/part-of=management-operator')
  await expect(type(install)).rejects.toThrow(/no matches for kind "Config"/)
})
