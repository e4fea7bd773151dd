// What a chart of a release has beside the one in Git: where it comes from and what is new, as Helm and Artifact Hub read it,
// and its image. Pure.
import { parseDocument, stringify } from 'yaml'
import type { ReleaseImage } from './image.ts'

/** Where the charts of a release come from. */
export interface ChartOrigin {
  /** URL of the repository. */
  readonly repository: string
  /** The commit, 40 hex digits. */
  readonly commit: string
  readonly image: ReleaseImage
  readonly version: string
  /** The text of CHANGELOG.md. */
  readonly changelog: string
}

/** A change, as annotation `artifacthub.io/changes` has it. */
export interface Change {
  readonly kind: string
  readonly description: string
}

/** Headings of CHANGELOG.md, and the kinds of Artifact Hub. */
const KINDS: Readonly<Record<string, string>> = {
  Added: 'added',
  Changed: 'changed',
  Deprecated: 'deprecated',
  Removed: 'removed',
  Fixed: 'fixed',
  Security: 'security',
}

/** Chart.yaml with home, sources, and the annotations of Artifact Hub that only a release knows. */
export function withOrigin(chart: string, origin: ChartOrigin): string {
  const { repository, commit, image, version, changelog } = origin
  const page = (path: string): string => `${repository}/blob/${commit}/${path}`
  const document = parseDocument(chart)
  document.set('home', repository)
  document.set('sources', [`${repository}/tree/${commit}`])
  const annotations = {
    links: [
      { name: 'Install', url: page('docs/helm.md') },
      { name: 'Verify a release', url: page('docs/verify-release.md') },
      { name: 'Changelog', url: page('CHANGELOG.md') },
    ],
    images: [{ name: 'management-operator', image: `${image.repository}@${image.digest}` }],
    changes: changesOf(changelog, version),
  }
  for (const [name, value] of Object.entries(annotations))
    document.setIn(['annotations', `artifacthub.io/${name}`], stringify(value, { lineWidth: 0 }))
  return document.toString({ lineWidth: 0 })
}

/** values.yaml with the image of the release, so that the chart installs what it was released with. */
export function withImage(values: string, { repository, digest }: ReleaseImage): string {
  const document = parseDocument(values)
  document.setIn(['image', 'repository'], repository)
  document.setIn(['image', 'digest'], digest)
  return document.toString({ lineWidth: 0 })
}

/** The entries of a version in CHANGELOG.md, without their links; empty = the version has none. */
export function changesOf(changelog: string, version: string): readonly Change[] {
  const [, ...versions] = changelog.split(/^## /m)
  const own = versions.find((text) => /^\[?([^\s\]]+)/.exec(text)?.[1] === version) ?? ''
  const [, ...sections] = own.split(/^### /m)
  return sections.flatMap((section) => {
    const [title = '', ...lines] = section.split('\n')
    const kind = KINDS[title.trim()]
    const [, ...entries] = `\n${lines.join('\n')}`.split(/\n- /)
    return kind === undefined
      ? []
      : entries.map((entry) => ({ kind, description: plainText(entry) }))
  })
}

/** An entry in one line; the pages that it ends with are left out, and other links keep their text. */
const plainText = (entry: string): string =>
  entry
    .replaceAll(/\s+/g, ' ')
    .replace(/(?:,? ?\[[^\]]+\]\([^)]+\))+ *$/, '')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .trim()
