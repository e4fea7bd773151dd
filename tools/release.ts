// `make release IMAGE=registry.example.com/platform/management-operator@sha256:... REPOSITORY=https://git.example.com/mo`:
// writes what a version consists of into dist/: charts, install.yaml and install-agent.yaml, the SBOM, their sums and their
// provenance. Twice from one commit it writes the same bytes. Nothing is published.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { AGENT, CHARTS, PLATFORM } from './charts/files.ts'
import { ensureBinaries } from './control-plane/binaries.ts'
import { ensureHelm } from './helm/program.ts'
import type { ChartOrigin } from './release/chart-origin.ts'
import { packagedChart } from './release/charts.ts'
import { cleanCheckout } from './release/checkout.ts'
import { writeRelease } from './release/folder.ts'
import { parseImage } from './release/image.ts'
import { releaseManifests } from './release/manifests.ts'
import { PROVENANCE, provenanceOf } from './release/provenance.ts'
import { parseRepository } from './release/repository.ts'
import { writeSbom } from './release/sbom.ts'
import { digestsOf } from './release/sums.ts'
import { versionFaults } from './release/versions.ts'

const ROOT = join(import.meta.dirname, '..')
const say = (line: string): void => console.log(line)
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

async function main(): Promise<void> {
  const image = parseImage(process.env['IMAGE'] ?? '')
  const repository = parseRepository(process.env['REPOSITORY'] ?? '')
  const { version } = JSON.parse(textOf('package.json')) as { readonly version: string }
  refuseFaults(version)
  const checkout = cleanCheckout(ROOT)
  const { commit } = checkout
  const origin = { repository, commit, image, version, changelog: textOf('CHANGELOG.md') }
  const files = await releaseFiles(origin, checkout.timeSeconds)
  const digests = digestsOf(files)
  const source = {
    repository,
    commit,
    image: `${image.repository}@${image.digest}`,
    node: process.versions.node,
  }
  const provenance = `${JSON.stringify(provenanceOf(digests, source), null, 2)}\n`
  const all = new Map([...files, [PROVENANCE, Buffer.from(provenance)]])
  writeRelease(join(ROOT, 'dist'), all)
  say(`release ${version} of ${commit} is in dist/:\n${[...all.keys()].join('\n')}`)
}

function refuseFaults(version: string): void {
  const faults = versionFaults({
    package: version,
    charts: [PLATFORM, AGENT].map((name) => parse(textOf(`charts/${name}/Chart.yaml`))),
    manifests: textOf('config/components/release/kustomization.yaml'),
    changelog: textOf('CHANGELOG.md'),
  })
  if (faults.length > 0) throw new Error(`versions differ:\n${faults.join('\n')}`)
}

async function releaseFiles(
  origin: ChartOrigin,
  timeSeconds: number,
): Promise<ReadonlyMap<string, Buffer>> {
  const [{ kubectl }, helm] = await Promise.all([ensureBinaries(say), ensureHelm(say)])
  const charts = [PLATFORM, AGENT].map((name) =>
    packagedChart(helm, join(CHARTS, name), timeSeconds, origin),
  )
  const manifests = { 'install.yaml': 'config/default', 'install-agent.yaml': 'config/direct' }
  const written = Object.entries(manifests).map(
    async ([name, folder]): Promise<[string, Buffer]> => [
      name,
      Buffer.from(await releaseManifests(kubectl, join(ROOT, folder), origin.image)),
    ],
  )
  const sbom = writeSbom(say).then((content): [string, Buffer] => ['sbom.cdx.json', content])
  return new Map(await Promise.all([...charts, ...written, sbom]))
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
