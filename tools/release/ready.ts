// Faults of a release that would be signed or pushed. Pure: each fault is a sentence with its remedy.
import { PROVENANCE } from './provenance.ts'
import { type ReleaseFiles, sumFaults } from './sums.ts'

/** What the caller is about to publish. */
export interface Publication {
  /** `version` of package.json. */
  readonly version: string
  /** Names of the charts. */
  readonly charts: readonly string[]
  /** `repository@sha256:...` of the image to sign; null = no image is signed. */
  readonly image: string | null
}

/** The name of a chart's package. */
export const packageName = (chart: string, version: string): string => `${chart}-${version}.tgz`

/** Why the files of dist/ (null = there are none) can't be published so; empty = they can. */
export function publicationFaults(
  files: ReleaseFiles | null,
  publication: Publication,
): readonly string[] {
  if (files === null) return ['dist/ is missing: run make release']
  const sums = sumFaults(files).map((fault) => `dist/: ${fault}: run make release again`)
  return [
    ...sums,
    ...versionFaults([...files.keys()], publication),
    ...imageFaults(files, publication.image),
  ]
}

function versionFaults(
  names: readonly string[],
  { version, charts }: Publication,
): readonly string[] {
  const wanted = charts.map((chart) => packageName(chart, version))
  const others = names.filter((name) => name.endsWith('.tgz') && !wanted.includes(name))
  if (others.length > 0)
    return [
      `dist/ has ${others.join(', ')}, and package.json has version ${version}: check out the commit of the release, or run make release again`,
    ]
  return wanted
    .filter((name) => !names.includes(name))
    .map((name) => `dist/ has no ${name}: run make release again`)
}

function imageFaults(files: ReleaseFiles, image: string | null): readonly string[] {
  const released = releasedImage(files)
  if (image === null || released === image) return []
  if (released === null) return [`dist/ has no ${PROVENANCE}: run make release again`]
  return [
    `IMAGE is ${image}, and the manifests of dist/ have ${released}: sign that one, or run make release with this one`,
  ]
}

/** The image that the provenance names; null = there is no provenance. */
function releasedImage(files: ReleaseFiles): string | null {
  const text = files.get(PROVENANCE)?.toString()
  if (text === undefined) return null
  const { predicate } = JSON.parse(text) as {
    readonly predicate: {
      readonly buildDefinition: { readonly externalParameters: { readonly image: string } }
    }
  }
  return predicate.buildDefinition.externalParameters.image
}
